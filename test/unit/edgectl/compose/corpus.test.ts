import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { nameApps } from "../../../../src/edgectl/group/app-names.ts";
import { mapPorts } from "../../../../src/edgectl/group/map-ports.ts";
import { readGroupFile } from "../../../../src/edgectl/group-file/read-group.ts";
import { buildGroupRequest, checkGroupRequest } from "../../../../src/edgectl/group/request.ts";
import { problemsOf, withListedDirectories } from "../../../support/edgectl/compose.ts";

/*
 * Compose files as they are written for gateways. `expected.json` has the request that each becomes with --map-ports, or
 * the problems that refuse it.
 */

const CORPUS = join(import.meta.dirname, "../../../fixtures/compose");

function convertFile(name: string) {
  const path = join(CORPUS, name, "compose.yaml");
  const text = readFileSync(path, "utf8");
  const file = readGroupFile([{ text, fileName: "compose.yaml", path }], {
    project: undefined,
    envFiles: [],
    env: {},
    profiles: ["*"],
  });
  if (!file) throw new Error(`${name} is no compose file`);
  const { problems } = file;
  const written = nameApps(file.written);
  const flags = { prune: false, adopt: false, keep: false };
  const request = buildGroupRequest(written, mapPorts(written, [], problems), flags, {});
  return { request, written, problems };
}

describe("compose files of gateways", () => {
  const names = readdirSync(CORPUS);

  test.each(names)("%s", (name) => {
    const { request, problems } = convertFile(name);
    const found = problemsOf(problems);
    const result =
      found.length > 0 ? { problems: found } : { notes: problems.notes, request: withListedDirectories(request) };
    expect(result).toEqual(JSON.parse(readFileSync(join(CORPUS, name, "expected.json"), "utf8")));
  });

  test.each(names)("%s becomes a request that the schema accepts", (name) => {
    const { request, written, problems } = convertFile(name);
    const before = problemsOf(problems);
    checkGroupRequest(request, written, problems);
    expect(problemsOf(problems)).toEqual(before);
  });
});
