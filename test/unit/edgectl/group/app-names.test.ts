import { describe, expect, test } from "vitest";
import { nameApps } from "../../../../src/edgectl/group/app-names.ts";
import { mapPorts } from "../../../../src/edgectl/group/map-ports.ts";
import { buildGroupRequest, checkGroupRequest } from "../../../../src/edgectl/group/request.ts";
import { Problems } from "../../../../src/edgectl/documents/problems.ts";
import { sharedName } from "../../../../src/protocol/apps/app-network.ts";
import { parseNewAppSpec } from "../../../../src/protocol/apps/app-spec.ts";
import { convert } from "../../../support/edgectl/compose.ts";

const FILE = `services:
  db: {image: 'db:1'}
  web: {image: 'web:1', depends_on: [db], ports: ['80:80'], container_name: site}
  agent: {image: 'agent:1', network_mode: host}
`;

function named(project: string, installed: Parameters<typeof nameApps>[1] = []) {
  const { written } = convert(FILE, { project });
  if (!written) throw new Error("no draft");
  return nameApps(written, installed);
}

/** Names of the apps of a file with one service. */
function appsOf(project: string, service: string, installed: Parameters<typeof nameApps>[1] = []) {
  const { written } = convert(`services: {${service}: {image: 'x:1'}}`, { project });
  return written && nameApps(written, installed).apps.map(({ name }) => name);
}

describe("the apps of services", () => {
  test("whose names would be too long are refused with the name and what to shorten", () => {
    const { written: services } = convert("services:\n  gateway-bridge-basicstation: {image: 'x:1'}\n", {
      project: "p".repeat(40),
    });
    const written = nameApps(services ?? { project: "", apps: [], options: {} });
    const problems = new Problems("f");
    const flags = { prune: false, adopt: false, keep: false };
    checkGroupRequest(buildGroupRequest(written, [], flags, {}), written, problems);
    expect(problems.problemDocuments.map(({ line, message }) => `${line}: ${message}`)).toEqual([
      expect.stringMatching(
        /^2: .* would be called p{40}\.gateway-bridge-basicstation, with 68 characters: .*--project/,
      ),
    ]);
  });

  test.each([
    [
      "{A-b: {image: 'x:1'}, a-B: {image: 'x:1'}}",
      "services.a-B: its app would be called gw.a-B: the names gw.A-b and",
    ],
    ["{'a b': {image: 'x:1'}}", "services.a b: its app would be called gw.a b: must be 1 to 63"],
  ])("that cannot have their names are refused with what is wrong with them: %s", (services, message) => {
    const { written: converted } = convert(`services: ${services}`);
    const written = nameApps(converted ?? { project: "", apps: [], options: {} });
    const problems = new Problems("f");
    checkGroupRequest(
      buildGroupRequest(written, [], { prune: false, adopt: false, keep: false }, {}),
      written,
      problems,
    );
    const found = problems.problemDocuments.map((problem) => problem.message);
    expect(found).toContainEqual(expect.stringContaining(message));
    expect(found.join()).toContain("Rename the service.");
    expect(found.join()).not.toContain("--project");
  });

  test("have the project in their names, and their service's name on the project's network", () => {
    const { apps } = named("gw");
    expect(
      apps.map(({ name, fields, dependsOn }) => ({
        name,
        aliases: fields["aliases"],
        networks: fields["networks"],
        on: dependsOn.map(({ app }) => app),
      })),
    ).toEqual([
      { name: "gw.db", aliases: ["db"], networks: ["gw_default"], on: [] },
      { name: "gw.web", aliases: ["web", "site"], networks: ["gw_default"], on: ["gw.db"] },
      { name: "gw.agent", aliases: undefined, networks: undefined, on: [] },
    ]);
  });

  test("of two projects are in each other's way nowhere", () => {
    const [one, other] = [named("one"), named("two")];
    for (const app of one.apps) {
      for (const beside of other.apps) {
        expect(app.name).not.toBe(beside.name);
        const [first, second] = [app, beside].map(({ name, fields }) => {
          const parsed = parseNewAppSpec({ name, ...fields });
          if (!parsed.ok) throw parsed.error;
          return parsed.spec;
        });
        if (first && second) expect(sharedName(first, second)).toBeUndefined();
      }
    }
  });

  test("of `a` with `b.c` and of `a.b` with `c` have one name, which a device has once", () => {
    expect(appsOf("a", "b.c")).toEqual(["a.b.c"]);
    expect(appsOf("a.b", "c", [{ name: "a.b.c", project: "a" }])).toEqual(["a.b.c"]);
  });

  test("keep the name under which the project has them installed", () => {
    const { apps } = named("gw", [
      { name: "db", project: "gw" },
      { name: "web", project: "other" },
      { name: "agent", project: undefined },
    ]);
    expect(apps.map(({ name, dependsOn }) => [name, ...dependsOn.map(({ app }) => app)])).toEqual([
      ["db"],
      ["gw.web", "db"],
      ["gw.agent"],
    ]);
    expect(apps[0]?.fields["aliases"]).toBeUndefined();
  });

  test("get the same ports under either name", () => {
    const ports = (written: ReturnType<typeof named>) =>
      mapPorts(written, [], new Problems("f")).map(({ hostPort }) => hostPort);
    expect(ports(named("gw"))).toEqual(ports(named("gw", [{ name: "web", project: "gw" }])));
    expect(ports(named("gw"))).not.toEqual(ports(named("gw2")));
  });
});
