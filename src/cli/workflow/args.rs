//! What can be typed after `vigie workflow`.

use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Workflow {
    /// The configuration, beside which your own workflows lie [default: ~/.config/vigie/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(subcommand)]
    pub what: What,
}

#[derive(Debug, Subcommand)]
pub enum What {
    /// List the workflows there are
    List,
    /// Check files and show each mistake with its place; exit code 1 if one does not run
    Check {
        /// Files, or names of workflows [default: all there are]
        #[arg(value_name = "FILE|NAME")]
        which: Vec<String>,
    },
    /// Show steps, params, next times and what it usually costs; nothing runs
    Plan {
        /// A file, or the name of a workflow
        #[arg(value_name = "FILE|NAME")]
        which: String,
        /// Values of its params
        #[arg(value_name = "NAME=VALUE")]
        params: Vec<String>,
    },
    /// Begin a run
    Run(Run),
    /// List runs, the newest first
    Runs {
        /// Only of this workflow
        workflow: Option<String>,
        /// Only those that are not over
        #[arg(long)]
        open: bool,
    },
    /// Show a run, step by step
    Show {
        /// As `vigie workflow runs` shows it: release-12
        run: String,
    },
    /// Print what the steps of a run printed
    Logs(Logs),
    /// End a run, with every process it started
    Cancel { run: String },
    /// Run again what failed, with the same text, params and outputs
    Retry {
        run: String,
        /// This step and all that needs it, whatever became of them
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
    },
    /// Put a workflow among your own, to change it
    Copy {
        /// As `vigie workflow list` shows it
        name: String,
    },
    /// Print the schema by which editors check files while you type
    Schema {
        /// Put it beside your own workflows instead, or into this folder
        #[arg(long, value_name = "FOLDER", num_args = 0..=1)]
        #[expect(clippy::option_option, reason = "as clap has it: absent, bare, with a folder")]
        write: Option<Option<PathBuf>>,
    },
}

#[derive(Debug, clap::Args)]
pub struct Run {
    /// As `vigie workflow list` shows it
    pub workflow: String,
    /// Values of its params
    #[arg(value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// Where it runs, if it does not say itself [default: the first project]
    #[arg(long, short)]
    pub project: Option<String>,
    /// A key of your own: the same again begins nothing and names the first run
    #[arg(long)]
    pub key: Option<String>,
    /// Tell each step until it is over; exit code 0 done, 1 failed, 2 denied, cancelled or not run
    #[arg(long, short)]
    pub follow: bool,
}

#[derive(Debug, clap::Args)]
pub struct Logs {
    pub run: String,
    /// Only this step
    pub step: Option<String>,
    /// Go on until the run is over
    #[arg(long, short)]
    pub follow: bool,
}
