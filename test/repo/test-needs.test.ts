import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { REQUIREMENTS } from "../../scripts/setup/requirements.ts";
import { readModules } from "../../scripts/test/modules.ts";
import { NEEDS, type TestNeed } from "../../scripts/test/needs.ts";
import { MAIN, isBelow, readTiers } from "../../scripts/test/tiers.ts";

/** Programs that are not on every machine, as a test names them when it starts one or looks for one. */
const PROGRAMS: Readonly<Record<string, TestNeed>> = {
  busctl: "dbus",
  chromium: "chromium",
  "dbus-daemon": "dbus",
  docker: "docker-command",
  "docker-compose": "docker-compose",
  "docker-registry": "registry",
  dockerd: "engine",
  findFakeTime: "faketime",
  findPostgresFolder: "postgresql",
  initdb: "postgresql",
  iptables: "engine",
  mmdebstrap: "devices",
  "nats-server": "nats",
  nginx: "nginx",
  openssl: "openssl",
  patchelf: "packaging",
  podman: "podman",
  prometheus: "prometheus",
  promtool: "prometheus",
};
/** A call with a program's name as its first argument, in quotes, or one of the functions that look for a program. */
const CALL =
  /\b(?:(?:run|start|succeed|spawn|spawnSync|execFile|execFileSync|findProgram)\(\s*"([\w-]+)"|(find(?:FakeTime|PostgresFolder))\()/g;

const modules = readModules();
const tiers = readTiers(modules);

it("every module of the tests that starts a program says what it needs", () => {
  const missing = [...modules.keys()]
    .filter((path) => path.startsWith("test/"))
    .flatMap((path) => {
      const called = [...readFileSync(path, "utf8").matchAll(CALL)].map(([, name, finder]) => name ?? finder ?? "");
      const needs = called.flatMap((name) => (Object.hasOwn(PROGRAMS, name) ? [PROGRAMS[name] as TestNeed] : []));
      return needs.filter((need) => !NEEDS[path]?.includes(need)).map((need) => `${path}: ${need}`);
    });
  expect(
    missing,
    "start these programs through a module of test/support, or name them in scripts/test/needs.ts",
  ).toEqual([]);
});

it("only modules that exist say what they need", () => {
  expect(Object.keys(NEEDS).filter((path) => !modules.has(path))).toEqual([]);
});

it("every requirement of the machine is one of a test's, or of a script's", () => {
  const needed = new Set(Object.values(NEEDS).flat());
  expect(Object.keys(REQUIREMENTS).filter((name) => !needed.has(name as TestNeed))).toEqual([]);
});

it("the tiers name only tests that exist, and every test is in a folder that a project runs", () => {
  const config = readFileSync("vitest.config.ts", "utf8");
  const folders = new Set(tiers.all.map((path) => path.split("/")[1] ?? ""));
  expect([...folders].filter((name) => !config.includes(`"${name}"`))).toEqual([]);
  expect(MAIN.filter((place) => !tiers.all.some((path) => isBelow(path, [place])))).toEqual([]);
  expect(tiers.quick.length).toBeGreaterThan(100);
});
