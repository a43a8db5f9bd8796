"""A person's phone, for tests: a Matrix client with keys and rooms of its own.

One JSON object a line. The first line that comes in says who logs in where; every other one is a
command. What goes out is either the answer to a command, or something that the phone saw. It ends
when nothing more can come in, so that none outlives its test.

It asks the server itself, so that what it saw is the server's own words with only the secret parts
opened; of matrix-nio it uses the keys: who has which devices, who gets which room key, what was written.
"""

import asyncio
import copy
import json
import os
import shutil
import sys
import uuid
from email.utils import parsedate_to_datetime
from urllib.parse import quote, urlencode

import aiohttp
import nio
from nio.crypto.attachments import decrypt_attachment, encrypt_attachment

from signing import Identity, signed_devices
from verifying import Verification
from wire import tell

# The longest that the server keeps a request for news open.
LONG_POLL = 20_000
# As many events of one room as the server gives at most (Synapse: 100); what is older is fetched.
TIMELINE = 100
# After the server did not answer.
PAUSE = 0.2
# These never go out sealed: every client and server reads them.
NEVER_SEALED = ("m.reaction", "m.room.redaction")
SEALED = "m.room.encrypted"


class Refused(Exception):
    """The server said no, in its own words."""


class Phone:
    def __init__(self, wanted, web):
        self.url = wanted["url"]
        self.folder = wanted["folder"]
        self.wanted = wanted
        self.web = web
        self.token = None
        self.since = None
        self.listening = asyncio.Event()
        self.listening.set()
        # Keys are asked for, shared and used by one at a time.
        self.turn = asyncio.Lock()
        self.unreadable = []
        self.withheld = {}
        self.verifications = {}

    # The server.

    async def call(self, method, path, body=None, query=None):
        url = self.url + path + ("?" + urlencode(query) if query else "")
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        async with self.web.request(method, url, json=body, headers=headers) as answer:
            said = await answer.json(content_type=None)
            if answer.status != 200:
                raise Refused(f"{answer.status} {said.get('errcode')}: {said.get('error')}")
            return said

    async def client(self, method, path, body=None, query=None):
        return await self.call(method, "/_matrix/client/v3" + path, body, query)

    async def with_password(self, method, path, body):
        """What the server may want the account's password for."""
        url, headers = self.url + "/_matrix/client/v3" + path, {"Authorization": f"Bearer {self.token}"}
        async with self.web.request(method, url, json=body, headers=headers) as answer:
            said = await answer.json(content_type=None)
            if answer.status == 200:
                return said
            if answer.status != 401 or "session" not in said:
                raise Refused(f"{answer.status} {said.get('errcode')}: {said.get('error')}")
        auth = {"type": "m.login.password", "session": said["session"], "password": self.wanted["password"],
                "identifier": {"type": "m.id.user", "user": self.user}}
        return await self.client(method, path, dict(body, auth=auth))

    # Who it is.

    async def start(self):
        os.makedirs(self.folder, exist_ok=True)
        kept = os.path.join(self.folder, "session.json")
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as file:
                session = json.load(file)
        else:
            session = await self.client("POST", "/login", {
                "type": "m.login.password",
                "identifier": {"type": "m.id.user", "user": self.wanted["user"]},
                "password": self.wanted["password"],
                "initial_device_display_name": "a phone",
            })
            with open(kept, "w", encoding="utf-8") as file:
                json.dump(session, file)
        self.token, self.user, self.device = (
            session[key] for key in ("access_token", "user_id", "device_id"))
        config = nio.AsyncClientConfig(encryption_enabled=True, max_timeouts=1, request_timeout=30)
        self.keys = nio.AsyncClient(
            self.url, self.user, device_id=self.device, store_path=self.folder, config=config)
        self.keys.restore_login(self.user, self.device, self.token)
        # Verification is ours: nio knows only the oldest way of it.
        self.keys.olm.handle_key_verification = lambda event: None
        if self.keys.should_upload_keys:
            await self.keys.keys_upload()
        self.identity = Identity(self, self.folder)
        if self.wanted["signed"]:
            await self.identity.sign_this_device()
        await self.listen_once()
        tell(saw="ready", user=self.user, device=self.device, token=self.token)

    # What it sees.

    async def listen(self):
        while True:
            await self.listening.wait()
            try:
                await self.listen_once()
            except asyncio.CancelledError:
                raise
            except (aiohttp.ClientError, asyncio.TimeoutError, Refused, nio.exceptions.ProtocolError) as why:
                tell(saw="trouble", why=repr(why))
                await asyncio.sleep(PAUSE)

    async def listen_once(self):
        only = {"room": {"timeline": {"limit": TIMELINE}}}
        query = {"timeout": LONG_POLL if self.since else 0, "filter": json.dumps(only)}
        if self.since:
            query["since"] = self.since
        news = await self.client("GET", "/sync", query=query)
        async with self.turn:
            await self.take(news)

    async def take(self, news):
        taken = nio.SyncResponse.from_dict(copy.deepcopy(news))
        if not isinstance(taken, nio.SyncResponse):
            raise Refused(f"nio does not understand the server's news: {taken}")
        await self.keys.receive_response(taken)
        rooms = news.get("rooms", {})
        for name, room in rooms.get("join", {}).items():
            timeline = room.setdefault("timeline", {})
            timeline.setdefault("events", [])
            if timeline.get("limited") and self.since:
                await self.fill(name, timeline)
            timeline["events"] = [self.opened(name, event) for event in timeline["events"]]
        self.since = news["next_batch"]
        tell(saw="news", rooms=rooms, account=news.get("account_data", {}).get("events", []))
        await self.keep_keys()
        self.try_again()
        for event in news.get("to_device", {}).get("events", []):
            await self.verify(event["type"], event["sender"], event["content"], None, None)
        for name, room in rooms.get("join", {}).items():
            for event in room["timeline"]["events"]:
                if event["sender"] != self.user:
                    await self.verify(
                        event["type"], event["sender"], event["content"], name, event["event_id"])

    async def fill(self, room, timeline):
        """What the server left out because it was too much at once."""
        start, path = timeline["prev_batch"], f"/rooms/{quote(room)}/messages"
        while start:
            query = {"dir": "b", "from": start, "to": self.since, "limit": TIMELINE}
            older = await self.client("GET", path, query=query)
            timeline["events"] = older["chunk"][::-1] + timeline["events"]
            start = older.get("end") if older["chunk"] else None

    def opened(self, room, event):
        """The event as a person reads it; with `unreadable` where the key is not there."""
        if event["type"] != SEALED or "state_key" in event or "ciphertext" not in event["content"]:
            return event
        inside = self.unsealed(room, event)
        if inside is None:
            self.unreadable.append((room, event))
            return dict(event, unreadable=True)
        return inside

    def unsealed(self, room, event):
        parsed = nio.Event.parse_event(copy.deepcopy(event))
        if not isinstance(parsed, nio.MegolmEvent):
            return None
        found = self.keys.olm.decrypt_event(parsed, room)
        if found is None or "content" not in getattr(found, "source", {}):
            return None
        inside = dict(event, type=found.source["type"], content=found.source["content"])
        inside["sealed_by"] = event["content"].get("device_id")
        return inside

    def try_again(self):
        """Keys may come after what they open."""
        waiting, self.unreadable = self.unreadable, []
        for room, event in waiting:
            inside = self.unsealed(room, event)
            if inside is None:
                self.unreadable.append((room, event))
            else:
                tell(saw="opened", room=room, event=inside)

    async def keep_keys(self):
        if self.keys.should_upload_keys:
            await self.keys.keys_upload()
        if self.keys.should_query_keys:
            await self.keys.keys_query()
        if self.keys.should_claim_keys:
            await self.keys.keys_claim(self.keys.get_users_for_key_claiming())
        await self.keys.send_to_device_messages()

    async def know_everybody(self, room):
        """Who is in the room and which devices they have: those get the key."""
        if not self.keys.rooms[room].members_synced:
            await self.keys.joined_members(room)
        await self.keep_keys()

    # What it does.

    async def send(self, room, kind, content, txn=None):
        known = self.keys.rooms.get(room)
        if known is not None and known.encrypted and kind not in NEVER_SEALED:
            await self.know_everybody(room)
            if self.keys.olm.should_share_group_session(room):
                await self.keys.share_group_session(room, ignore_unverified_devices=True)
            kind, content = self.keys.encrypt(room, kind, content)
        return await self.put(room, kind, content, txn)

    async def put(self, room, kind, content, txn=None):
        path = f"/rooms/{quote(room)}/send/{kind}/{quote(txn or uuid.uuid4().hex)}"
        return (await self.client("PUT", path, content))["event_id"]

    async def send_withheld(self, room, kind, content):
        """Seals for nobody; the key is kept for later."""
        await self.know_everybody(room)
        olm = self.keys.olm
        olm.create_outbound_group_session(room)
        session = olm.outbound_group_sessions[room]
        key = {"algorithm": "m.megolm.v1.aes-sha2", "room_id": room,
               "session_id": session.id, "session_key": session.session_key}
        session.shared = True
        kind, content = self.keys.encrypt(room, kind, content)
        # The next message has a key of its own, which everybody gets.
        del olm.outbound_group_sessions[room]
        event = await self.put(room, kind, content)
        self.withheld[event] = (room, key)
        return event

    async def give_key(self, event):
        room, key = self.withheld.pop(event)
        await self.know_everybody(room)
        if missing := self.keys.get_missing_sessions(room):
            await self.keys.keys_claim(missing)
        olm, messages = self.keys.olm, {}
        for user in self.keys.rooms[room].users:
            for device in olm.device_store.active_user_devices(user):
                session = olm.session_store.get(device.curve25519)
                if device.id != self.device and session:
                    sealed = olm._olm_encrypt(session, device, "m.room_key", key)
                    messages.setdefault(user, {})[device.id] = sealed
        await self.to_device(SEALED, messages)

    async def to_device(self, kind, messages):
        await self.client("PUT", f"/sendToDevice/{kind}/{uuid.uuid4().hex}", {"messages": messages})

    async def upload(self, path, name, mime, sealed):
        """A file's place: what belongs into the message that shows it."""
        with open(path, "rb") as file:
            data = file.read()
        keys = None
        if sealed:
            data, keys = encrypt_attachment(data)
            mime = "application/octet-stream"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": mime}
        url = f"{self.url}/_matrix/media/v3/upload?" + urlencode({"filename": name})
        async with self.web.post(url, data=data, headers=headers) as answer:
            said = await answer.json(content_type=None)
            if answer.status != 200:
                raise Refused(f"{answer.status} {said}")
        return {"file": dict(keys, url=said["content_uri"])} if sealed else {"url": said["content_uri"]}

    async def download(self, content, path):
        """Saves the file of a message's content, opened."""
        sealed = content.get("file")
        place = (sealed or content)["url"].removeprefix("mxc://")
        url = f"{self.url}/_matrix/client/v1/media/download/{place}"
        async with self.web.get(url, headers={"Authorization": f"Bearer {self.token}"}) as answer:
            data = await answer.read()
            if answer.status != 200:
                raise Refused(f"{answer.status} {data[:200]!r}")
        if sealed:
            data = decrypt_attachment(
                data, sealed["key"]["k"], sealed["hashes"]["sha256"], sealed["iv"])
        with open(path, "wb") as file:
            file.write(data)

    # Verification by emoji.

    async def verify(self, kind, sender, content, room, event):
        """Hands what belongs to a verification to it; a request begins one."""
        if kind == "m.room.message" and content.get("msgtype") == "m.key.verification.request":
            if content.get("to") == self.user:
                await self.asked(event, sender, content["from_device"], room)
        elif kind == "m.key.verification.request":
            await self.asked(content["transaction_id"], sender, content["from_device"], None)
        elif kind.startswith("m.key.verification."):
            name = content.get("transaction_id") or content.get("m.relates_to", {}).get("event_id")
            if name in self.verifications and self.verifications[name].peer == sender:
                await self.verifications[name].heard(kind.rsplit(".", 1)[1], content)

    async def asked(self, name, sender, device, room):
        self.verifications[name] = Verification(self, name, sender, device, room)
        self.verifications[name].say("asked")

    async def ask_to_verify(self, user, device, room):
        content = {"from_device": self.device, "methods": ["m.sas.v1"]}
        if room:
            body = "A verification is asked for, which this client cannot show."
            name = await self.send(room, "m.room.message", dict(
                content, msgtype="m.key.verification.request", to=user, body=body))
        else:
            name = uuid.uuid4().hex
            content["transaction_id"] = name
            content["timestamp"] = (await self.server_time())
            await self.to_device("m.key.verification.request", {user: {device: content}})
        self.verifications[name] = Verification(self, name, user, device, room, eager=True)
        return name

    async def server_time(self):
        """Requests are refused when they are ten minutes off; nobody's clock but the server's counts."""
        async with self.web.get(f"{self.url}/_matrix/client/versions") as answer:
            return int(parsedate_to_datetime(answer.headers["Date"]).timestamp() * 1000)

    # Commands.

    async def do(self, command):
        what = command.pop("do")
        if what == "call":
            return await self.client(command["method"], command["path"], command.get("body"))
        if what == "listen":
            self.listening.set() if command["on"] else self.listening.clear()
            return None
        if what == "upload":
            return await self.upload(**command)
        if what == "download":
            return await self.download(**command)
        if what == "sign":
            return await self.identity.sign_this_device()
        if what == "renew":
            return await self.identity.renew()
        if what == "devices":
            return await signed_devices(self, command["user"])
        async with self.turn:
            return await self.do_in_turn(what, command)

    async def do_in_turn(self, what, command):
        if what == "send":
            return await self.send(**command)
        if what == "put":
            return await self.put(**command)
        if what == "send_withheld":
            return await self.send_withheld(**command)
        if what == "give_key":
            return await self.give_key(**command)
        if what == "new_room_key":
            self.keys.invalidate_outbound_session(command["room"])
            return None
        if what == "ask_to_verify":
            return await self.ask_to_verify(command["user"], command["device"], command.get("room"))
        steps = {"accept": "accept", "begin": "begin", "confirm": "confirm", "mismatch": "mismatch"}
        if what in steps:
            return await getattr(self.verifications[command["verification"]], steps[what])()
        raise Refused(f"the phone knows no `{what}`")

    async def obey(self, command):
        tag = command.pop("tag")
        try:
            tell(answer=tag, ok=await self.do(command))
        except Exception as why:  # whatever it was, the test says it
            tell(answer=tag, no=str(why) if isinstance(why, Refused) else repr(why))


async def lines():
    reader = asyncio.StreamReader(limit=2**26)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield json.loads(line)


async def main():
    commands = lines()
    wanted = await anext(commands)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as web:
        phone = Phone(wanted, web)
        await phone.start()
        at_work = {asyncio.create_task(phone.listen())}
        async for command in commands:
            task = asyncio.create_task(phone.obey(command))
            at_work.add(task)
            task.add_done_callback(at_work.discard)
        for task in at_work:
            task.cancel()
        await phone.keys.close()
        # Whoever gave the folder may be gone already.
        shutil.rmtree(phone.folder, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main())
