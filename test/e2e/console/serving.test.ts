import { readFile, readdir } from "node:fs/promises";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONSOLE_PATHS } from "../../../src/protocol/people/console-paths.ts";
import { ControlProcess } from "../../support/system/control.ts";
import { tempDir } from "../../support/temp-dir.ts";

const FILES = "dist/console/console";

let owned: AsyncDisposableStack;
let control: ControlProcess;
beforeAll(async () => {
  owned = new AsyncDisposableStack();
  control = owned.use(new ControlProcess(owned.use(await tempDir()).path, []));
  await control.start();
});
afterAll(() => owned.disposeAsync());

describe("the document", () => {
  it.each(CONSOLE_PATHS.map((path) => path.replaceAll(/:\w+/g, "a-name")))("is served at %s", async (path) => {
    const response = await fetch(control.url + path);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("has a policy without inline scripts and styles, other hosts, and with another nonce each time", async () => {
    const policies = await Promise.all([1, 2].map(async () => (await fetch(control.url)).headers));
    const [first, second] = policies.map((headers) => headers.get("content-security-policy") ?? "");
    expect(first).toContain("default-src 'none'");
    expect(first).toContain("frame-ancestors 'none'");
    expect(first).not.toMatch(/unsafe|https?:|\*/);
    expect(first).not.toBe(second);
    expect(policies[0]?.get("referrer-policy")).toBe("no-referrer");
    expect(policies[0]?.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(policies[0]?.get("x-content-type-options")).toBe("nosniff");
  });

  it("names files of this server only", async () => {
    const html = await (await fetch(control.url)).text();
    const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = ""]) => address);
    expect(addresses.length).toBeGreaterThan(2);
    expect(addresses.filter((address) => !/^(?:\/console\/|data:image\/)/.test(address))).toEqual([]);
    for (const address of addresses.filter((each) => each.startsWith("/")))
      expect((await fetch(control.url + address)).status).toBe(200);
  });
});

describe("a file", () => {
  it.each(["br", "gzip"])("is cached for good, and sent with %s", async (encoding) => {
    const name = (await readdir(FILES)).find((file) => /^index-.*\.js$/.test(file)) ?? "";
    const headers = await headersOf(`/console/${name}`, encoding);
    expect(headers["content-encoding"]).toBe(encoding);
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(headers["content-type"]).toMatch(/^(?:text|application)\/javascript/);
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });

  it("that is loaded by a page contains no zod", async () => {
    const scripts = (await readdir(FILES)).filter((file) => file.endsWith(".js"));
    const texts = await Promise.all(scripts.map((file) => readFile(`${FILES}/${file}`, "utf8")));
    expect(texts.join("")).toContain("X-API-Key");
    expect(texts.join("")).not.toContain("ZodError");
  });
});

describe("everything else stays unknown", () => {
  it.each([
    "/v1/nothing",
    "/v1",
    "/nothing",
    "/overview/nothing",
    "/index.html",
    "/console/",
    "/console/nothing.js",
    "/console/..%2findex.html",
    "/console/%2e%2e/index.html",
    "/.fingerprint",
  ])("%s is a JSON 404", async (path) => {
    const response = await fetch(control.url + path, { headers: { accept: "text/html" } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "NotFound" });
  });
});

/** As a browser asks: `fetch` of Node.js decodes and hides the encoding. */
function headersOf(path: string, encoding: string): Promise<NodeJS.Dict<string | string[]>> {
  return new Promise((resolve, reject) => {
    const sent = request(control.url + path, { headers: { "accept-encoding": encoding } }, (response) => {
      response.resume();
      resolve(response.headers);
    });
    sent.on("error", reject).end();
  });
}
