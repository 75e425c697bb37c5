import { describe, expect, test } from "vitest";
import { convert, convertWeb } from "../../../support/edgectl/compose.ts";

describe("networks, volumes, configs and secrets that no service refers to", () => {
  test.each<[string, string]>([
    ["networks: {a: {driver: overlay}}", "networks (a)"],
    ["networks: {default: {driver: macvlan}, b: }", "networks (b)"],
    ["volumes: {a: {driver_opts: {type: nfs, device: $NOWHERE}}, b: }", "volumes (a, b)"],
    ["configs: {a: {file: $NOWHERE/a}}", "configs (a)"],
    ["secrets: {a: {external: true}}", "secrets (a)"],
    ["volumes: {a: $NOWHERE}", "volumes (a)"],
  ])("%s", (lines, note) => {
    const { problems, notes } = convert(
      `services: {web: {image: 'w:1'${lines.includes("default") ? ", network_mode: none" : ""}}}\n${lines}`,
    );
    expect(problems).toEqual([]);
    expect(notes.join()).toContain(`${note.replace("(b)", "(default, b)")} have no effect here: no service`);
  });

  test("what only a service in another profile refers to is not looked at either", () => {
    const text = [
      "services:",
      "  web: {image: 'w:1'}",
      "  debug: {image: 'd:1', profiles: [debug], volumes: ['dumps:/d'], networks: [far], secrets: [key]}",
      "volumes: {dumps: {driver: nfs, name: $NOWHERE}}",
      "networks: {far: {driver: overlay}}",
      "secrets: {key: {file: './${NOWHERE}'}}",
    ].join("\n");
    expect(convert(text).problems).toEqual([]);
    expect(convert(text, { profiles: ["debug"] }).problems.map((line) => line.split(" ")[1])).toEqual([
      "volumes.dumps.driver",
      "volumes.dumps.name",
      "networks.far.driver",
      "secrets.key.file",
    ]);
  });

  test("one that a service refers to is refused for a variable that is not set, once", () => {
    const { problems } = convertWeb("volumes: ['a:/a', 'a:/b']", "volumes: {a: {name: $NOWHERE}}");
    expect(problems).toEqual([expect.stringContaining("volumes.a.name uses the variable NOWHERE, which is not set")]);
  });

  test("the network of services that name none is one that they refer to", () => {
    expect(convertWeb("tty: true", "networks: {default: {driver: overlay}}").problems).toEqual([
      expect.stringContaining("networks.default.driver must be bridge"),
    ]);
  });
});

describe("names that are one", () => {
  test("two volumes of a name are one, as in compose", () => {
    const { apps, problems } = convertWeb("volumes: ['a:/a', 'b:/b']", "volumes: {a: {name: x}, b: {name: x}}");
    expect(problems).toEqual([]);
    expect(apps["web"]).toMatchObject({
      volumes: [
        { name: "x", target: "/a" },
        { name: "x", target: "/b" },
      ],
    });
  });

  test("so are two networks", () => {
    const { apps, problems } = convertWeb("networks: [a, b]", "networks: {a: {name: x}, b: {name: x}}");
    expect(problems).toEqual([]);
    expect(apps["web"]?.["networks"]).toEqual(["x"]);
  });

  test.each([
    "volumes: {a: {name: x}, b: {name: x, external: true}}",
    "volumes: {a: {name: gw_b, external: true}, b: }",
  ])("an external volume and one of the agent's: %s", (volumes) => {
    const { problems } = convertWeb("volumes: ['a:/a', 'b:/b']", volumes);
    expect(problems).toEqual([expect.stringContaining("in compose they are one, but only one of them is external")]);
    expect(convertWeb("volumes: ['a:/a']", volumes).problems).toEqual([]);
  });

  test("a directory that is empty here, and a volume with the name that it would have", () => {
    const directory = convertWeb("volumes: ['./data:/d']");
    const [, name] = /is the volume (\S+)\./.exec(directory.notes.join()) ?? [];
    const { problems } = convertWeb("volumes: ['./data:/d']", `volumes: {other: {name: ${name}}}`);
    expect(problems).toEqual([expect.stringContaining("as volumes.other is. Rename that one.")]);
  });

  test.each<[string, object]>([
    ["volumes: ['a:/d', 'b:/d']", { name: "gw_b" }],
    ["volumes: ['a:/d', {type: volume, source: b, target: /d/}]", { name: "gw_b" }],
    ["volumes: [{type: tmpfs, target: /d}, '/srv:/d']", { local: "/srv" }],
    ["volumes: ['a:/d', 'a:/d:ro']", { name: "gw_a", readonly: true }],
    ["volumes: ['nowhere:/d', '/d', 'a:/d']", { name: "gw_a", readonly: false }],
    ["volumes: ['./missing.conf:/d', './missing.conf:/d/', 'a:/d']", { name: "gw_a" }],
    ["volumes: [{type: volume, source: a, target: /d}, {type: volume, source: a, target: /d}]", { name: "gw_a" }],
  ])("of several mounts at one path, the last one counts, as in compose: %s", (lines, mounted) => {
    const { apps, problems, notes } = convertWeb(lines, "volumes: {a: , b: }");
    expect(problems).toEqual([]);
    expect(apps["web"]?.["volumes"]).toEqual([expect.objectContaining(mounted)]);
    expect(apps["web"]).not.toHaveProperty("tmpfs");
    expect(notes.join()).toMatch(
      /web\.volumes\[0\] is left out: services\.web\.volumes\[[12]\] mounts at \/d too, and the last/,
    );
  });

  test("two services with one container_name", () => {
    const { problems } = convert(
      "services: {a: {image: 'a:1', container_name: x}, b: {image: 'b:1', container_name: x}}",
    );
    expect(problems).toEqual([expect.stringContaining("services.b.container_name is also that of the service a.")]);
  });
});
