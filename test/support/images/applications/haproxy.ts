import type { Image } from "../image.ts";
import { buildAppImage } from "./debian-app.ts";

const PACKAGES = [
  "haproxy",
  "libc6",
  "libcap2",
  "libcrypt1",
  "libgcc-s1",
  "libgcrypt20",
  "libgpg-error0",
  "liblua5.3-0",
  "liblz4-1",
  "liblzma5",
  "libopentracing-c-wrapper0",
  "libopentracing1",
  "libpcre2-8-0",
  "libssl3",
  "libstdc++6",
  "libsystemd0",
  "libzstd1",
];

/** Debian's HAProxy, used as the image `haproxy`: its configuration is `/usr/local/etc/haproxy/haproxy.cfg`. */
export function haproxyImage(): Promise<Image> {
  return buildAppImage({
    user: { name: "haproxy", uid: 99 },
    packages: PACKAGES,
    files: [],
    config: {
      Cmd: ["/usr/sbin/haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"],
      // Ends when its connections have ended.
      StopSignal: "SIGUSR1",
    },
  });
}
