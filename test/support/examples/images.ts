import { mosquittoImage } from "../images/applications/mosquitto.ts";
import { nginxSiteImage } from "../images/applications/nginx.ts";
import { nodeRedImage } from "../images/applications/node-red.ts";
import { postgresqlImage } from "../images/applications/postgresql.ts";
import { prometheusImage } from "../images/applications/prometheus.ts";
import { loadImageAs } from "../images/load-image.ts";

/** What the names that the examples use stand for here: images of Debian's and npm's packages. */
const IMAGES = {
  "eclipse-mosquitto:2": ["docker.io/library/eclipse-mosquitto:2", mosquittoImage],
  "nginx:1": ["docker.io/library/nginx:1", nginxSiteImage],
  "nodered/node-red:5": ["docker.io/nodered/node-red:5", nodeRedImage],
  "postgres:15": ["docker.io/library/postgres:15", postgresqlImage],
  "prom/prometheus:v2.42.0": ["docker.io/prom/prometheus:v2.42.0", prometheusImage],
} as const;

/** Loads the images that a file of apps names into an engine of the test's own, under these names. */
export async function loadImagesOf(text: string, socketPath: string): Promise<void> {
  for (const [, name = ""] of text.matchAll(/^ *image: (\S+)$/gm)) {
    const known = (IMAGES as Partial<Record<string, (typeof IMAGES)[keyof typeof IMAGES]>>)[name];
    if (known === undefined) throw new Error(`there is no image ${name} for the tests`);
    const [reference, build] = known;
    await loadImageAs(socketPath, await build(), reference);
  }
}
