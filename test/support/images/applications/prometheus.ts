import type { Image } from "../image.ts";
import { buildAppImage, ownDirectory } from "./debian-app.ts";

const USER = { name: "nobody", uid: 65_534 };

/** Debian's Prometheus, laid out as the image `prom/prometheus`: `/etc/prometheus/prometheus.yml`, data in `/prometheus`. */
export function prometheusImage(): Promise<Image> {
  return buildAppImage({
    user: USER,
    packages: ["prometheus", "libc6"],
    leftOut: /^usr\/bin\/promtool$/,
    files: [ownDirectory(USER, "prometheus")],
    config: {
      Entrypoint: ["/usr/bin/prometheus"],
      Cmd: ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"],
      ExposedPorts: { "9090/tcp": {} },
      Volumes: { "/prometheus": {} },
    },
  });
}
