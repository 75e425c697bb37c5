import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { RULED_FOLDERS, RULED_PROGRAMS, violations } from "../support/repo/boundaries.ts";
import { sourceFiles } from "../support/repo/files.ts";
import { folderCircles } from "../support/repo/folder-circles.ts";
import { readImports } from "../support/repo/imports.ts";

describe("import boundaries", () => {
  const files = sourceFiles("src");
  const read = Promise.all(files.map(async (path) => readImports(path, await readFile(path, "utf8"))));

  it("hold for every module", async () => {
    const modules = await read;
    expect(modules.flatMap((module) => module.files).length).toBeGreaterThan(files.length / 2);
    expect(modules.flatMap(violations)).toEqual([]);
  });

  it("name only folders that have modules", () => {
    expect(RULED_FOLDERS.filter((folder) => !files.some((file) => file.startsWith(folder)))).toEqual([]);
  });

  it.each(Object.entries(RULED_PROGRAMS))("every folder of %s has a rule", (program, ruled) => {
    const root = `src/${program}/`;
    const inside = files.filter((file) => file.startsWith(root)).map((file) => file.slice(root.length));
    const folders = inside.filter((file) => file.includes("/")).map((file) => file.split("/")[0] ?? "");
    expect([...new Set(folders)].toSorted()).toEqual(ruled.toSorted());
  });

  it("no folders import each other in a circle", async () => {
    const modules = await read;
    expect(folderCircles(modules)).toEqual([]);
  });

  it("each class has a name of its own", async () => {
    const declared = /^(?:export )?(?:abstract )?class (\w+)/gm;
    const texts = await Promise.all(files.map((path) => readFile(path, "utf8")));
    const names = texts.flatMap((text) => [...text.matchAll(declared)].map(([, name]) => name));
    expect(names.length).toBeGreaterThan(200);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it("a circle of folders is found, also through others", () => {
    const modules = [
      readImports("src/a/one/x.ts", `import { y } from "../two/y.ts";`),
      readImports("src/a/two/y.ts", `import { z } from "../z.ts";`),
      readImports("src/a/z.ts", `import { w } from "./one/w.ts";`),
      readImports("src/b/one/x.ts", `import { y } from "./y.ts"; import { z } from "../z.ts";`),
      readImports("src/b/one/y.ts", `import { x } from "./x.ts"; import { a } from "../../a/z.ts";`),
    ];
    expect(folderCircles(modules)).toEqual(["src/a: one, two, z.ts"]);
  });

  it.each([
    ["src/protocol/a.ts", `import { pino } from "pino";`],
    ["src/protocol/a.ts", `import { b } from "../lib/b.ts";`],
    ["src/lib/a.ts", `import type { B } from "../agent/b.ts";`],
    ["src/agent/core/a.ts", `import { readFile } from "node:fs/promises";`],
    ["src/agent/core/a.ts", `import { z } from "zod";`],
    ["src/agent/core/a.ts", `import { systemClock } from "../../lib/clock.ts";`],
    ["src/agent/core/a.ts", `import type { Engine } from "../engine/engine.ts";`],
    ["src/agent/steps/a.ts", `import Docker from "dockerode";`],
    ["src/agent/steps/a.ts", `type D = import("dockerode").Container;`],
    ["src/agent/local/a.ts", `const { cpu } = await import("systeminformation");`],
    ["src/agent/link/a.ts", `import { b } from "../steps/b.ts";`],
    ["src/agent/local/a.ts", `import { createDockerEngine } from "../engine/docker/docker-engine.ts";`],
    ["src/control-plane/server.ts", `import { openStore } from "./store/sqlite/open-store.ts";`],
    ["src/control-plane/devices/queries/a.ts", `import type { Session } from "../hub/session.ts";`],
    ["src/agent/a.ts", `export * from "../control-plane/b.ts";`],
    ["src/control-plane/a.ts", `export { b } from "../agent/b.ts";`],
    ["src/control-plane/core/a.ts", `import "node:crypto";`],
    ["src/edgectl/a.ts", `import { b } from "../control-plane/api/b.ts";`],
    ["src/console/a.tsx", `import { pino } from "pino";`],
    ["src/console/a.tsx", `import { readFile } from "node:fs/promises";`],
    ["src/console/a.ts", `import { b } from "../lib/b.ts";`],
    ["src/control-plane/a.ts", `import { useState } from "react";`],
    ["src/control-plane/api/a.ts", `import files from "@fastify/static";`],
    ["src/edgectl/views/a.ts", `import { run } from "../runs/b.ts";`],
    ["src/edgectl/deploy/a.ts", `import { view } from "../views/b.ts";`],
    ["src/console/parts/a.tsx", `import { page } from "../pages/b.tsx";`],
    ["src/control-plane/store/a.ts", `import { b } from "../config.ts";`],
    ["src/elsewhere/a.ts", ``],
  ])("a violation is found: %s with %s", (path, source) => {
    expect(violations(readImports(path, source))).toHaveLength(1);
  });

  it.each([
    ["src/protocol/a.ts", `import { z } from "zod"; import { b } from "./b.ts";`],
    [
      "src/agent/core/a.ts",
      `import type { AppSpec } from "../../protocol/apps/app-spec.ts"; import { b } from "./b.ts";`,
    ],
    ["src/agent/engine/docker/a.ts", `import Docker from "dockerode"; import { c } from "../engine.ts";`],
    ["src/agent/steps/a.ts", `import { plan } from "../core/plan.ts"; import { join } from "node:path";`],
    ["src/console/a.tsx", `import { Link } from "react-router"; import type { B } from "../protocol/b.ts";`],
    ["src/agent/daemon/a.ts", `import { createDockerEngine } from "../engine/docker/docker-engine.ts";`],
  ])("nothing is found where nothing is wrong: %s with %s", (path, source) => {
    expect(violations(readImports(path, source))).toEqual([]);
  });

  it("an import with a computed target is an error", () => {
    expect(() => readImports("src/agent/a.ts", "await import(name);")).toThrow(/computed/);
  });
});
