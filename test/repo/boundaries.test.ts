import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { RULED_FOLDERS, violations } from "../support/repo/boundaries.ts";
import { sourceFiles } from "../support/repo/files.ts";
import { readImports } from "../support/repo/imports.ts";

describe("import boundaries", () => {
  const files = sourceFiles("src");

  it("hold for every module", async () => {
    const modules = await Promise.all(files.map(async (path) => readImports(path, await readFile(path, "utf8"))));
    expect(modules.flatMap((module) => module.files).length).toBeGreaterThan(files.length / 2);
    expect(modules.flatMap(violations)).toEqual([]);
  });

  it("name only folders that have modules", () => {
    expect(RULED_FOLDERS.filter((folder) => !files.some((file) => file.startsWith(folder)))).toEqual([]);
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
    ["src/control-plane/queries/a.ts", `import type { Session } from "../hub/session.ts";`],
    ["src/agent/a.ts", `export * from "../control-plane/b.ts";`],
    ["src/control-plane/a.ts", `export { b } from "../agent/b.ts";`],
    ["src/control-plane/core/a.ts", `import "node:crypto";`],
    ["src/edgectl/a.ts", `import { b } from "../control-plane/api/b.ts";`],
    ["src/console/a.tsx", `import { pino } from "pino";`],
    ["src/console/a.tsx", `import { readFile } from "node:fs/promises";`],
    ["src/console/a.ts", `import { b } from "../lib/b.ts";`],
    ["src/control-plane/a.ts", `import { useState } from "react";`],
    ["src/control-plane/api/a.ts", `import files from "@fastify/static";`],
    ["src/elsewhere/a.ts", ``],
  ])("a violation is found: %s with %s", (path, source) => {
    expect(violations(readImports(path, source))).toHaveLength(1);
  });

  it.each([
    ["src/protocol/a.ts", `import { z } from "zod"; import { b } from "./b.ts";`],
    ["src/agent/core/a.ts", `import type { AppSpec } from "../../protocol/app-spec.ts"; import { b } from "./b.ts";`],
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
