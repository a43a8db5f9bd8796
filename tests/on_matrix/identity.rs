//! Somebody's identity changes: what they write is not taken, they are rung for, and a person at the desk
//! takes them as they are now.

use matrix_lab::tools;
use serde_json::{Value, json};

use super::support::matrix::Life;

/// How Ada stands with the daemon, and her master key now.
async fn standing(life: &Life) -> (String, String) {
    let account: Value = life.home.desk().get("/matrix").await.unwrap();
    let people = account["people"].as_array().unwrap();
    let ada = people.iter().find(|person| person["user"] == life.phone.user()).unwrap();
    let text = |key: &str| ada[key].as_str().unwrap_or_default().to_owned();
    (text("standing"), text("identity"))
}

#[tokio::test]
async fn another_identity_is_refused_rung_for_and_heard_again_once_it_is_accepted() {
    let Some(tools) = tools() else { return };
    let life = Life::begin(&tools, "direct").await;
    life.start("PD-285").await;
    life.say("[PD-285] stream 2").await;
    life.hears("2 lines printed").await;
    let (before, known) = standing(&life).await;
    assert_ne!(before, "renewed");

    life.phone.renew().await;
    life.say("[PD-285] stream 3").await;
    let told = life.hears("is another one than before").await;
    assert!(told.mentions.contains(life.phone.user()), "{told}");
    let (now, identity) = standing(&life).await;
    assert_eq!(now, "renewed");
    assert_ne!(identity, known);

    let user = life.phone.user().replace('@', "%40").replace(':', "%3A");
    let path = format!("/matrix/people/{user}/accept");
    let body = json!({ "identity": identity });
    let _: Value = life.home.desk().post(&path, &body).await.unwrap();
    life.say("[PD-285] stream 4").await;
    life.hears("4 lines printed").await;
    assert_eq!(life.count("3 lines printed"), 0, "{}", life.phone.view());
    life.all_well();
}
