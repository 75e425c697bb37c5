import type { Image } from "../image.ts";
import { buildAppImage, ownDirectory } from "./debian-app.ts";

const WORKER = { name: "nginx", uid: 101 };

const CONFIG = `
user nginx;
worker_processes auto;
pid /run/nginx.pid;
error_log /dev/stderr notice;
events {}
http {
  include /etc/nginx/mime.types;
  access_log /dev/stdout;
  include /etc/nginx/conf.d/*.conf;
}
`;

const SITE = `
server {
  listen 80;
  location / { root /usr/share/nginx/html; }
}
`;

/** Debian's nginx, laid out as the image `nginx`: started as root, its workers as user 101, sites in `/etc/nginx/conf.d`. */
export function nginxSiteImage(): Promise<Image> {
  return buildAppImage({
    user: WORKER,
    packages: ["nginx", "nginx-common", "libc6", "libcrypt1", "libpcre2-8-0", "libssl3", "zlib1g"],
    leftOut: /^etc\/nginx\/(sites-(available|enabled)|conf\.d|nginx\.conf)/,
    files: [
      { path: "etc/nginx/nginx.conf", content: CONFIG },
      { path: "etc/nginx/conf.d/", directory: true },
      { path: "etc/nginx/conf.d/default.conf", content: SITE },
      { path: "run/", directory: true },
      { path: "var/log/nginx/", directory: true },
      ownDirectory(WORKER, "var/lib/nginx", 0o700),
    ],
    config: {
      User: "",
      Cmd: ["/usr/sbin/nginx", "-g", "daemon off;"],
      ExposedPorts: { "80/tcp": {} },
      StopSignal: "SIGQUIT",
    },
  });
}
