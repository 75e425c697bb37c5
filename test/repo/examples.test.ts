import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const EXAMPLES = readdirSync("examples");

it("the README's first request is the app of examples/node-red", () => {
  const [, body = ""] = /edge\/apps".* -d '(\{.*?\n\})'/s.exec(readFileSync("README.md", "utf8")) ?? [];
  expect(JSON.parse(body)).toEqual(JSON.parse(readFileSync("examples/node-red/app.json", "utf8")));
});

it.each(EXAMPLES)("examples/%s has a README, which docs/apps.md links to", (name) => {
  expect(readFileSync(`examples/${name}/README.md`, "utf8")).toMatch(/^```sh\nedgectl (apply|deploy) GW-0001 -f /m);
  expect(readFileSync("docs/apps.md", "utf8")).toContain(`(../examples/${name}/README.md)`);
});
