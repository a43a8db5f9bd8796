"""Verification by emoji, as the specification has it ("Short Authentication String", Matrix 1.15),
sent from device to device or within a room."""

import hashlib

from nio.crypto.sas import Sas as Known
import vodozemac

from signing import canonical, unpadded
from wire import tell

METHOD = "m.sas.v1"
OFFER = {
    "method": METHOD,
    "key_agreement_protocols": ["curve25519-hkdf-sha256"],
    "hashes": ["sha256"],
    "message_authentication_codes": ["hkdf-hmac-sha256.v2"],
    "short_authentication_string": ["emoji", "decimal"],
}


class Verification:
    def __init__(self, phone, name, peer, device, room, eager=False):
        self.phone, self.name, self.peer, self.device, self.room = phone, name, peer, device, room
        # Begins by itself once the other side is ready.
        self.eager = eager
        self.sas = vodozemac.Sas()
        self.key = self.sas.public_key.to_base64()
        self.started_by_us = None
        self.their_start = self.our_start = self.commitment = None
        self.secret = self.their_mac = None
        self.confirmed = self.over = False

    def say(self, stage, **more):
        tell(saw="verification", verification=self.name, user=self.peer, device=self.device,
             room=self.room, stage=stage, **more)

    async def send(self, step, content):
        kind = "m.key.verification." + step
        if self.room:
            content = dict(content)
            content["m.relates_to"] = {"rel_type": "m.reference", "event_id": self.name}
            await self.phone.send(self.room, kind, content)
        else:
            content = dict(content, transaction_id=self.name)
            await self.phone.to_device(kind, {self.peer: {self.device: content}})
        return content

    # What the person does.

    async def accept(self):
        await self.send("ready", {"from_device": self.phone.device, "methods": [METHOD]})

    async def begin(self):
        self.started_by_us = True
        self.our_start = await self.send("start", dict(OFFER, from_device=self.phone.device))

    async def confirm(self):
        self.confirmed = True
        device = "ed25519:" + self.phone.device
        macs = {device: self.phone.keys.olm.account.identity_keys["ed25519"]}
        if self.phone.identity.keys:
            master = self.phone.identity.public("master")
            macs["ed25519:" + master] = master
        info = self.info(self.phone.user, self.phone.device, self.peer, self.device)
        await self.send("mac", {
            "mac": {name: self.secret.calculate_mac(key, info + name) for name, key in macs.items()},
            "keys": self.secret.calculate_mac(",".join(sorted(macs)), info + "KEY_IDS"),
        })
        await self.finish()

    async def mismatch(self):
        await self.cancel("m.mismatched_sas", "The emoji were not the same.")

    async def cancel(self, code, reason):
        self.over = True
        await self.send("cancel", {"code": code, "reason": reason})
        self.say("cancelled", code=code)

    # What the other side does.

    async def heard(self, step, content):
        if not self.over:
            await getattr(self, "heard_" + step, self.heard_unknown)(content)

    async def heard_unknown(self, content):
        await self.cancel("m.unexpected_message", "This was not expected.")

    async def heard_ready(self, content):
        self.device = content["from_device"]
        self.say("ready")
        if self.eager and self.started_by_us is None:
            await self.begin()

    async def heard_start(self, content):
        # Where both begin, the smaller user's beginning counts; the same user's devices likewise.
        ours, theirs = (self.phone.user, self.phone.device), (self.peer, content["from_device"])
        if self.started_by_us and ours < theirs:
            return
        self.started_by_us, self.their_start = False, content
        digest = hashlib.sha256(self.key.encode() + canonical(content)).digest()
        await self.send("accept", {
            "method": METHOD, "key_agreement_protocol": "curve25519-hkdf-sha256", "hash": "sha256",
            "message_authentication_code": "hkdf-hmac-sha256.v2",
            "short_authentication_string": ["emoji", "decimal"], "commitment": unpadded(digest),
        })

    async def heard_accept(self, content):
        if not self.started_by_us:
            return
        self.commitment = content["commitment"]
        await self.send("key", {"key": self.key})

    async def heard_key(self, content):
        theirs = content["key"]
        if self.started_by_us:
            digest = hashlib.sha256(theirs.encode() + canonical(self.our_start)).digest()
            if unpadded(digest) != self.commitment:
                return await self.cancel("m.mismatched_commitment", "The key is another one.")
        else:
            await self.send("key", {"key": self.key})
        self.secret = self.sas.diffie_hellman(vodozemac.Curve25519PublicKey.from_base64(theirs))
        us = f"{self.phone.user}|{self.phone.device}|{self.key}"
        them = f"{self.peer}|{self.device}|{theirs}"
        first, second = (us, them) if self.started_by_us else (them, us)
        drawn = self.secret.bytes(f"MATRIX_KEY_VERIFICATION_SAS|{first}|{second}|{self.name}")
        shown = [Known.emoji[index] for index in drawn.emoji_indices]
        self.say("emoji", emoji=[list(one) for one in shown])

    async def heard_mac(self, content):
        self.their_mac = content
        await self.finish()

    async def heard_done(self, content):
        pass

    async def heard_cancel(self, content):
        self.over = True
        self.say("cancelled", code=content.get("code"), by_them=True)

    # The end.

    def info(self, user, device, other, others_device):
        return f"MATRIX_KEY_VERIFICATION_MAC{user}{device}{other}{others_device}{self.name}"

    async def finish(self):
        if not (self.confirmed and self.their_mac):
            return
        keys = await self.their_keys()
        macs = self.their_mac["mac"]
        info = self.info(self.peer, self.device, self.phone.user, self.phone.device)
        try:
            self.secret.verify_mac(",".join(sorted(macs)), info + "KEY_IDS", self.their_mac["keys"])
            for name, mac in macs.items():
                if name in keys:
                    self.secret.verify_mac(keys[name], info + name, mac)
        except (vodozemac.SasException, ValueError):
            return await self.cancel("m.key_mismatch", "The keys are others.")
        if self.peer != self.phone.user:
            await self.phone.identity.vouch_for(self.peer)
        self.over = True
        await self.send("done", {})
        self.say("done", keys=sorted(name for name in macs if name in keys))

    async def their_keys(self):
        found = await self.phone.client("POST", "/keys/query", {"device_keys": {self.peer: []}})
        device = found["device_keys"].get(self.peer, {}).get(self.device, {})
        master = found.get("master_keys", {}).get(self.peer, {})
        return {**device.get("keys", {}), **master.get("keys", {})}
