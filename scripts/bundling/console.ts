import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { type Manifest, type Plugin, build } from "vite";
import { CONSOLE_FILES_PATH } from "../../src/protocol/people/console-paths.ts";
import { heaviestPage } from "./console-size.ts";

const SOURCES = "src/console";
/** Folder of dist/ with the console. */
export const CONSOLE = "console";
const MANIFEST = "manifest.json";

/** Maximum size of the compressed script that a page needs before it is usable. The requirement is 200 kB. */
const MAX_PAGE_BYTES = 190_000;
const COMPRESSED = /\.(?:js|css)$/;

/**
 * Builds the console into the folder `console` below the given one, with a brotli and a gzip form of each file. Returns a
 * line with its size. Throws if a page is too large.
 */
export async function buildConsole(parent: string): Promise<string> {
  const folder = resolve(parent, CONSOLE);
  await build({
    configFile: false,
    logLevel: "warn",
    root: SOURCES,
    plugins: [colorSchemeScript()],
    build: {
      outDir: folder,
      emptyOutDir: true,
      assetsDir: CONSOLE_FILES_PATH.slice(1),
      manifest: MANIFEST,
      // Data URLs are not allowed as scripts and styles.
      assetsInlineLimit: 0,
      // The chunks are reached by `import()`, which all browsers that run them know.
      modulePreload: { polyfill: false },
      target: "es2022",
      rolldownOptions: {
        onLog: (level, log, handle) => {
          // Directives of server components, which the libraries carry.
          if (log.code !== "MODULE_LEVEL_DIRECTIVE") handle(level, log);
        },
      },
    },
  });
  await compressFiles(join(folder, CONSOLE_FILES_PATH));
  const manifest = JSON.parse(await readFile(join(folder, MANIFEST), "utf8")) as Manifest;
  await rm(join(folder, MANIFEST));
  const { page, bytes } = await heaviestPage(manifest, folder);
  const size = `${(bytes / 1000).toFixed(0)} kB of compressed script for ${page}`;
  if (bytes > MAX_PAGE_BYTES)
    throw new Error(`the console needs ${size}, and may need ${MAX_PAGE_BYTES / 1000} kB: load parts of it later`);
  return `dist/${CONSOLE.padEnd(12)} ${size}, its largest page`;
}

/**
 * Adds the script that sets the colour scheme before the first paint. It has to run before the page is shown, so it is no
 * module; a file of its own, since the page's policy allows no inline script.
 */
function colorSchemeScript(): Plugin {
  const name = "color-scheme.js";
  let file = "";
  return {
    name: "color-scheme-script",
    async buildStart() {
      const source = await readFile(join(SOURCES, name), "utf8");
      file = this.emitFile({ type: "asset", name, source });
    },
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle }) => {
        const asset = Object.values(bundle ?? {}).find((entry) => entry.type === "asset" && entry.names.includes(name));
        if (!asset || file === "") throw new Error(`${name} is not part of the build`);
        return [{ tag: "script", attrs: { src: `/${asset.fileName}` }, injectTo: "head-prepend" }];
      },
    },
  };
}

async function compressFiles(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => COMPRESSED.test(name));
  await Promise.all(
    names.map(async (name) => {
      const content = await readFile(join(folder, name));
      const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
      await writeFile(join(folder, `${name}.br`), await promisify(brotliCompress)(content, { params }));
      // Browsers ask for brotli over HTTPS and on loopback only.
      await writeFile(join(folder, `${name}.gz`), await promisify(gzip)(content, { level: 9 }));
    }),
  );
}
