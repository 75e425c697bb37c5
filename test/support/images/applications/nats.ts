import type { Image } from "../image.ts";
import { buildAppImage } from "./debian-app.ts";

/** Debian's NATS server, used as the image `nats`: the command is its options. */
export function natsImage(): Promise<Image> {
  return buildAppImage({
    user: { name: "nats", uid: 1000 },
    packages: ["nats-server", "libc6"],
    files: [],
    config: { Entrypoint: ["/usr/sbin/nats-server"], ExposedPorts: { "4222/tcp": {} } },
  });
}
