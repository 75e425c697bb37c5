import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import Docker from "dockerode";
import { pack } from "tar-stream";
import { findStaticBusybox } from "../setup/programs.ts";

const PAGE = new URL("app/www/index.html", import.meta.url);

/** Port the app listens on in its container. */
export const APP_PORT = 8080;

const COMMON = `
COPY index.html /www/index.html
EXPOSE ${APP_PORT}
CMD ["/bin/busybox", "httpd", "-f", "-p", "${APP_PORT}", "-h", "/www"]
`;

/** Builds the image of a small web server: from this machine's static busybox, or from Docker Hub's busybox image. */
export async function buildAppImage(tag: string): Promise<void> {
  const busybox = findStaticBusybox();
  const context = pack();
  context.entry({ name: "index.html" }, await readFile(PAGE));
  if (busybox !== undefined) context.entry({ name: "busybox", mode: 0o755 }, await readFile(busybox));
  const base = busybox === undefined ? "FROM busybox:stable" : "FROM scratch\nCOPY busybox /bin/busybox";
  context.entry({ name: "Dockerfile" }, base + COMMON);
  context.finalize();

  const docker = new Docker();
  const progress = await docker.buildImage(Readable.from(context), { t: tag });
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(progress, (error) => (error ? reject(error) : resolve()));
  });
}
