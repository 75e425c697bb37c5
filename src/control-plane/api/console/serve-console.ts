import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { CONSOLE_FILES_PATH, CONSOLE_PATHS } from "../../../protocol/people/console-paths.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Api } from "../context.ts";

/**
 * Headers of the console's document. Scripts are files of this server; a style element, which Mantine writes for its
 * variables, needs the nonce. Style attributes that scripts set are not restricted by a policy.
 */
function documentHeaders(nonce: string): Readonly<Record<string, string>> {
  return {
    "content-security-policy": [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "img-src 'self' data:",
      "font-src 'self'",
      "connect-src 'self'",
      "manifest-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ].join("; "),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
  };
}

const NONCE_PLACEHOLDER = "{{nonce}}";
const NONCE_BYTES = 16;
const YEAR_S = 365 * 24 * 3600;
/** Forms of other files, which the library chooses by what the browser accepts. */
const COMPRESSED = /\.(?:br|gz)$/;

/**
 * Serves the console, which the build puts beside the program: its document at each of its paths, and its files. Other
 * paths stay unknown. Without the folder, as in sources that were not built, there is no console.
 */
export async function serveConsole(
  api: Api,
  logger: Logger,
  folder = join(import.meta.dirname, "console"),
): Promise<void> {
  // Run from source: there is no console then, which is logged.
  const template = await readFile(join(folder, "index.html"), "utf8").catch(() => undefined);
  if (template === undefined) {
    logger.debug({ folder }, "the console is not served: it is not beside the program");
    return;
  }
  const [before, after, ...others] = template.split(NONCE_PLACEHOLDER);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${folder}/index.html must contain ${NONCE_PLACEHOLDER} once`);
  for (const path of CONSOLE_PATHS) {
    api.get(path, { schema: { hide: true } }, (_request, reply) => {
      const nonce = randomBytes(NONCE_BYTES).toString("base64");
      return reply.headers(documentHeaders(nonce)).type("text/html; charset=utf-8").send(`${before}${nonce}${after}`);
    });
  }
  await serveFiles(api, join(folder, CONSOLE_FILES_PATH));
}

/** Serves the files by their names in the folder, so that no path of a request reaches the disk. */
async function serveFiles(api: Api, folder: string): Promise<void> {
  const names: ReadonlySet<string> = new Set((await readdir(folder)).filter((name) => !COMPRESSED.test(name)));
  const { default: fastifyStatic } = await import("@fastify/static");
  await api.register(fastifyStatic, {
    root: folder,
    serve: false,
    preCompressed: true,
    immutable: true,
    maxAge: YEAR_S * 1000,
  });
  api.get(`${CONSOLE_FILES_PATH}/:file`, { schema: { hide: true } }, (request, reply) => {
    const { file } = request.params as { readonly file: string };
    if (!names.has(file)) throw new EdgeError("NotFound");
    void reply.headers({ "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" });
    return reply.sendFile(file);
  });
}
