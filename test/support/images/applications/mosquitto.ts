import type { Image } from "../image.ts";
import { buildAppImage, ownDirectory } from "./debian-app.ts";

const USER = { name: "mosquitto", uid: 1883 };

const PACKAGES = [
  "mosquitto",
  "mosquitto-clients",
  "libc6",
  "libcap2",
  "libcjson1",
  "libcom-err2",
  "libdlt2",
  "libgcrypt20",
  "libgpg-error0",
  "libgssapi-krb5-2",
  "libk5crypto3",
  "libkeyutils1",
  "libkrb5-3",
  "libkrb5support0",
  "liblz4-1",
  "liblzma5",
  "libmosquitto1",
  "libnsl2",
  "libssl3",
  "libsystemd0",
  "libtirpc3",
  "libwrap0",
  "libzstd1",
];

/**
 * Debian's Mosquitto, laid out as the image `eclipse-mosquitto`: configuration, data and log below `/mosquitto`, user 1883.
 * Without a configuration of its own it listens inside its container only.
 */
export function mosquittoImage(): Promise<Image> {
  const config = "persistence true\npersistence_location /mosquitto/data/\nlog_dest stderr\n";
  return buildAppImage({
    user: USER,
    packages: PACKAGES,
    files: [
      ...["mosquitto", "mosquitto/config", "mosquitto/data", "mosquitto/log"].map((path) => ownDirectory(USER, path)),
      { path: "mosquitto/config/mosquitto.conf", content: config },
    ],
    config: {
      Cmd: ["/usr/sbin/mosquitto", "-c", "/mosquitto/config/mosquitto.conf"],
      ExposedPorts: { "1883/tcp": {} },
      Volumes: { "/mosquitto/data": {}, "/mosquitto/log": {} },
    },
  });
}
