"""Cross-signing, which matrix-nio does not know: a person's own keys, and what they sign.

The forms are those of the specification: "Cross-signing" and "Signing JSON", Matrix 1.15."""

import base64
import json
import os

from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa

USAGES = ("master", "self_signing", "user_signing")


def canonical(value):
    """JSON as it is signed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def unpadded(data):
    return base64.b64encode(data).decode().rstrip("=")


def padded(text):
    return base64.b64decode(text + "=" * (-len(text) % 4))


def unsigned(value):
    return {key: value[key] for key in value if key not in ("signatures", "unsigned")}


def is_signed(value, user, public):
    """Whether that user's key signed it."""
    text = value.get("signatures", {}).get(user, {}).get("ed25519:" + public)
    if not text:
        return False
    try:
        key = eddsa.import_public_key(padded(public))
        eddsa.new(key, "rfc8032").verify(canonical(unsigned(value)), padded(text))
        return True
    except ValueError:
        return False


async def signed_devices(phone, user):
    """The devices of somebody as the server lists them, and which of them their owner signed."""
    found = await phone.client("POST", "/keys/query", {"device_keys": {user: []}})
    master, signing = (found.get(name, {}).get(user) for name in ("master_keys", "self_signing_keys"))
    trusted = None
    if master and signing and is_signed(signing, user, only_key(master)):
        trusted = only_key(signing)
    devices = found["device_keys"].get(user, {})
    return [{"id": name, "signed": bool(trusted) and is_signed(keys, user, trusted),
             "name": keys.get("unsigned", {}).get("device_display_name")}
            for name, keys in sorted(devices.items())]


def only_key(keys):
    return next(iter(keys["keys"].values()))


class Identity:
    """The three keys of a person, kept in the phone's folder."""

    def __init__(self, phone, folder):
        self.phone = phone
        self.file = os.path.join(folder, "identity.json")
        self.keys = {}

    def public(self, usage):
        return unpadded(self.keys[usage].public_key().export_key(format="raw"))

    def signature(self, usage, value):
        return unpadded(eddsa.new(self.keys[usage], "rfc8032").sign(canonical(unsigned(value))))

    def described(self, usage, signer=None):
        public = self.public(usage)
        value = {"user_id": self.phone.user, "usage": [usage], "keys": {"ed25519:" + public: public}}
        return self.signed(value, signer) if signer else value

    def signed(self, value, usage):
        value = dict(value)
        of_user = dict(value.get("signatures", {}).get(self.phone.user, {}))
        of_user["ed25519:" + self.public(usage)] = self.signature(usage, value)
        value["signatures"] = {self.phone.user: of_user}
        return value

    async def sign_this_device(self):
        """Publishes the keys the first time; then signs the device that we are."""
        if os.path.exists(self.file):
            with open(self.file, encoding="utf-8") as file:
                seeds = json.load(file)
            self.take(seeds)
        else:
            seeds = {usage: os.urandom(32).hex() for usage in USAGES}
            self.take(seeds)
            with open(self.file, "w", encoding="utf-8") as file:
                json.dump(seeds, file)
            await self.phone.with_password("POST", "/keys/device_signing/upload", {
                "master_key": self.described("master"),
                "self_signing_key": self.described("self_signing", "master"),
                "user_signing_key": self.described("user_signing", "master"),
            })
        user, device = self.phone.user, self.phone.device
        found = await self.phone.client("POST", "/keys/query", {"device_keys": {user: [device]}})
        await self.publish(user, device, self.signed(
            drop_unsigned(found["device_keys"][user][device]), "self_signing"))

    async def renew(self):
        """Sets encryption up anew: another identity takes the place of the one there was."""
        os.remove(self.file)
        await self.sign_this_device()

    def take(self, seeds):
        for usage in USAGES:
            self.keys[usage] = ECC.construct(curve="Ed25519", seed=bytes.fromhex(seeds[usage]))

    async def vouch_for(self, user):
        """Signs somebody's identity: their emoji were the same."""
        found = await self.phone.client("POST", "/keys/query", {"device_keys": {user: []}})
        master = found.get("master_keys", {}).get(user)
        if self.keys and master:
            await self.publish(user, only_key(master), self.signed(drop_unsigned(master), "user_signing"))

    async def publish(self, user, name, value):
        answer = await self.phone.client("POST", "/keys/signatures/upload", {user: {name: value}})
        if answer.get("failures"):
            raise RuntimeError(f"the server did not take a signature: {answer['failures']}")


def drop_unsigned(value):
    return {key: value[key] for key in value if key != "unsigned"}
