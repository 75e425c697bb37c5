import { describe, expect, test } from "vitest";
import { convert, variables } from "../../../support/edgectl/compose.ts";

const WEB = "services:\n  web:\n    image: web:1\n    restart: always\n";

const log = (driver: string): string => `services: {web: {logging: {${driver}options: {max-file: '2'}}}}`;

describe("several files", () => {
  test("are merged: maps by key, lists by appending, commands by replacing", () => {
    const first = [
      "services:",
      "  web:",
      "    image: web:1",
      "    restart: always",
      "    command: [serve]",
      "    environment: [A=1, B=1]",
      "    ports: ['80:80', '30081:81']",
      "    volumes: ['data:/data', './a:/a']",
      "    cap_add: [NET_ADMIN]",
      "    depends_on: [db]",
      "  db: {image: 'db:1', restart: always}",
      "volumes: {data: }",
    ].join("\n");
    const second = [
      "services:",
      "  web:",
      "    image: web:2",
      "    command: [serve, --debug]",
      "    environment: {B: 2, C: 3}",
      "    ports: ['80:80', '30082:82']",
      "    volumes: ['other:/data']",
      "    cap_add: [NET_ADMIN, SYS_TIME]",
      "    depends_on: {db: {condition: service_healthy}}",
      "volumes: {other: }",
    ].join("\n");
    const { apps, problems } = convert(first, { others: [second], files: { a: "a" } });
    expect(problems).toEqual([]);
    expect(apps["web"]).toMatchObject({
      image: "web:2",
      restart_policy: "always",
      command: ["serve", "--debug"],
      environments: [
        { key: "A", value: "1" },
        { key: "B", value: "2" },
        { key: "C", value: "3" },
      ],
      ports: ["80:80/tcp", "30081:81/tcp", "30082:82/tcp"],
      volumes: [{ name: "gw_other", target: "/data" }],
      files: [{ target: "/a" }],
      cap_add: ["NET_ADMIN", "SYS_TIME"],
      depends_on: { db: "healthy" },
    });
  });

  test("a later one may take away, or replace, what comes before", () => {
    const second = "services: {web: {ports: !override ['30080:80'], user: !reset null, labels: !reset {}}}";
    const { apps, problems } = convert(`${WEB}    user: '1'\n    labels: {a: b}\n    ports: ['1:1']\n`, {
      others: [second],
    });
    expect(problems).toEqual([]);
    expect(apps["web"]).toEqual({ image: "web:1", restart_policy: "always", ports: ["30080:80/tcp"] });
  });

  test("options of a log are merged with the same driver only", () => {
    const first = `${WEB}    logging: {driver: json-file, options: {max-size: 1m}}\n`;
    expect(convert(first, { others: [log("")] }).apps["web"]?.["log"]).toEqual({ max_bytes: 2 ** 20, max_files: 2 });
    expect(convert(first, { others: [log("driver: local, ")] }).problems).toEqual([
      expect.stringContaining("needs `max-size` too"),
    ]);
  });

  test("a problem names the file that it is in", () => {
    const { problems } = convert(WEB, { others: ["services:\n  web:\n    cpuset: 0\n    uts: host\n"] });
    expect(problems.map((line) => line.split(" ")[0])).toEqual(["f2:3:5:", "f2:4:5:"]);
  });

  test("a list and a map that contradict each other: the later one counts", () => {
    const { problems } = convert(`${WEB}    devices: [/dev/a]\n`, { others: ["services: {web: {devices: {a: b}}}"] });
    expect(problems).toEqual([expect.stringMatching(/^f2:1:.*devices must be a list/)]);
  });
});

describe("extends", () => {
  test("with a file that is refused is one problem, and neither a circle nor a missing image", () => {
    const unset = convert("services:\n  web:\n    extends: {service: web, file: '${ROOT}/x.yaml'}\n");
    expect(unset.problems).toEqual([expect.stringContaining("uses the variable ROOT, which is not set")]);
    const none = convert("services: {a: {extends: {file: none.yaml, service: x}, labels: {a: b}}}");
    expect(none.problems).toEqual([expect.stringContaining("none.yaml, which is not a file here")]);
  });

  test("takes the rest from a service of this file", () => {
    const text = `${WEB}    environment: {A: 1}\n  other:\n    extends: web\n    image: other:1\n    environment: {B: 2}\n`;
    expect(convert(text).apps["other"]).toEqual({
      image: "other:1",
      restart_policy: "always",
      environments: [
        { key: "A", value: "1" },
        { key: "B", value: "2" },
      ],
    });
  });

  test("takes a file by its absolute path, with what is beside it on this machine", () => {
    const files = {
      "../common/base.yaml": "services: {base: {image: 'b:1', env_file: b.env, volumes: ['./b.conf:/b:ro']}}",
      "../common/b.env": "A=1",
      "../common/b.conf": "b",
      "../other/o.yaml": "services: {o: {image: 'o:1', volumes: ['./o.conf:/o:ro']}}",
      "../other/o.conf": "o",
    };
    const text = [
      "include: [$HOME/other/o.yaml]",
      "services: {web: {extends: {file: '${HOME}/common/base.yaml', service: base}}}",
    ].join("\n");
    const { apps, problems } = convert(text, { files, env: { HOME: "/home" } });
    expect(problems).toEqual([]);
    expect(apps).toEqual({
      web: { image: "b:1", environments: [{ key: "A", value: "1" }], files: [{ target: "/b", content: "b" }] },
      o: { image: "o:1", files: [{ target: "/o", content: "o" }] },
    });
  });

  test("takes paths and variables of another file from there", () => {
    const files = {
      "common/base.yaml":
        "services: {base: {restart: always, image: 'b:$TAG', env_file: b.env, volumes: ['./b.conf:/b:ro', {type: bind, source: b.conf, target: /c, read_only: true}]}}",
      "common/b.env": "A=1",
      "common/b.conf": "b",
    };
    const text = "services: {web: {extends: {file: common/base.yaml, service: base}}} # restart";
    const { apps, problems } = convert(text, { files, env: { TAG: "2" } });
    expect(problems).toEqual([]);
    expect(apps["web"]).toEqual({
      image: "b:2",
      restart_policy: "always",
      environments: [{ key: "A", value: "1" }],
      files: [
        { target: "/b", content: "b" },
        { target: "/c", content: "b" },
      ],
    });
  });

  test.each<[string, string, string]>([
    ["itself", "services: {a: {extends: a}}", "which extends this service"],
    ["in a circle", "services: {a: {extends: b}, b: {extends: c}, c: {extends: a}}", "which extends this service"],
    ["in a circle of files", "services: {a: {extends: {file: x.yaml, service: x}}}", "which extends this service"],
    ["nothing", "services: {a: {extends: {file: none.yaml, service: x}}}", "none.yaml, which is not a file here"],
    ["a file without services", "services: {a: {extends: {file: empty.yaml, service: x}}}", "which has no services"],
    ["from the network", "services: {a: {extends: {file: 'https://h/x.yaml', service: x}}}", "on the network"],
  ])("%s is refused", (_, text, message) => {
    const files = {
      "x.yaml": "services: {x: {extends: {file: ./x.yaml, service: x}}}",
      "empty.yaml": "volumes: {}",
    };
    expect(convert(text, { files }).problems.join("\n")).toContain(message);
  });

  test("a chain that multiplies its lists ends at the bound", () => {
    const labels = Array.from({ length: 1_500 }, (_, index) => `l${index}: v`).join(", ");
    const services = Array.from({ length: 15 }, (_, index) => {
      const labelsOf = labels.replaceAll("l", `s${index}l`);
      return `  s${index}: {image: a, ${index === 0 ? "" : `extends: s${index - 1}, `}labels: {${labelsOf}}}`;
    });
    const started = performance.now();
    const { problems } = convert(`services:\n${services.join("\n")}`);
    expect(problems.join("\n")).toContain("more than 100,000 values once they are merged");
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  test("more than 16 services deep is refused", () => {
    const services = Array.from({ length: 20 }, (_, index) => {
      return `s${index}: {image: a${index === 19 ? "" : `, extends: s${index + 1}`}}`;
    });
    expect(convert(`services: {${services.join(", ")}}`).problems[0]).toContain("more than 16 services deep");
  });
});

describe("include", () => {
  test("brings services with the paths and variables of their own directory", () => {
    const files = {
      "infra/compose.yaml":
        "services: {db: {restart: always, image: 'db:$TAG', volumes: ['./my.cnf:/my.cnf:ro', 'data:/data'], configs: [c]}}\nvolumes: {data: }\nconfigs: {c: {file: c.txt}}",
      "infra/my.cnf": "x",
      "infra/c.txt": "c",
      "infra/.env": "TAG=3\nOTHER=infra",
    };
    const { apps, problems } = convert(`include: [infra/compose.yaml]\n${WEB}    depends_on: [db]\n`, { files });
    expect(problems).toEqual([]);
    expect(Object.keys(apps)).toEqual(["web", "db"]);
    expect(apps["db"]).toMatchObject({
      image: "db:3",
      volumes: [{ name: "gw_data", target: "/data" }],
      files: [
        { target: "/my.cnf", content: "x" },
        { target: "/c", content: "c" },
      ],
    });
  });

  test("what this file, or one that is included before, says of the same takes precedence", () => {
    const files = {
      "a.yaml": "services: {web: {image: 'a:1', user: a, environment: {A: a, B: a}}, db: {image: 'db:1', user: a}}",
      "b.yaml": "services: {db: {image: 'db:2', user: b, hostname: b}}\nnetworks: {front: {internal: true, name: b}}",
    };
    const own =
      "services: {web: {image: 'web:1', environment: {B: own}, networks: [front]}}\nnetworks: {front: {name: own}}";
    const { apps, problems } = convert(`include: [a.yaml, b.yaml]\n${own}`, { files });
    expect(problems).toEqual([]);
    expect(apps).toMatchObject({
      web: { image: "web:1", user: "a", networks: ["own"], internal_networks: ["own"] },
      db: { image: "db:1", user: "a", hostname: "b" },
    });
    expect(apps["web"]?.["environments"]).toEqual(variables({ A: "a", B: "own" }));
  });

  test("the variables of this file take precedence, and another file may be merged with the included one", () => {
    const files = {
      "a/one.yaml": "services: {db: {restart: always, image: 'db:$TAG'}}",
      "a/two.yaml": "services: {db: {user: '5'}}",
      "v.env": "TAG=from-file",
    };
    const text = `include: [{path: [a/one.yaml, a/two.yaml], env_file: v.env}]\n${WEB}`;
    expect(convert(text, { files }).apps["db"]).toMatchObject({ image: "db:from-file", user: "5" });
    expect(convert(text, { files, env: { TAG: "own" } }).apps["db"]).toMatchObject({ image: "db:own" });
  });

  test.each<[string, string, Readonly<Record<string, string>>]>([
    ["which includes this file", "include: [a.yaml]", { "a.yaml": "include: [b.yaml]", "b.yaml": "include: [a.yaml]" }],
    ["which is not a file here", "include: [none.yaml]", {}],
    ["larger than 1024 KiB", "include: [a.yaml]", { "a.yaml": `a: ${"x".repeat(1024 * 1024)}` }],
    ["on the network", "include: ['oci://registry/x']", {}],
    ["on the network", "include: ['https://example.com/x.yaml']", {}],
    [
      "more than 64 files",
      `include: [${Array.from({ length: 70 }, () => "a.yaml").join(", ")}]`,
      { "a.yaml": "x-a: 1" },
    ],
    [
      "more than 16 files deep",
      "include: [f0.yaml]",
      Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`f${index}.yaml`, `include: [f${index + 1}.yaml]`])),
    ],
  ])("%s is refused", (message, text, files) => {
    expect(convert(`${text}\n${WEB}`, { files }).problems.join("\n")).toContain(message);
  });

  test("a file outside of the project's directory is noted, as each file that is taken", () => {
    const { notes } = convert(`include: [../other/compose.yaml]\n${WEB}`, {
      files: { "../other/compose.yaml": "x-a: 1" },
    });
    expect(notes).toEqual([expect.stringContaining("takes ../other/compose.yaml, which is outside")]);
  });
});

/** Shortens problems to the variable that is not set. */
const unset = (lines: readonly string[]): string[] => lines.map((line) => line.split(", which")[0] ?? "");

describe("profiles", () => {
  const TEXT = `${WEB}  debug:\n    image: debug:1\n    restart: always\n    profiles: [debug, tools]\n`;

  test("leave services out that nothing chooses, and say so", () => {
    const { apps, notes } = convert(TEXT);
    expect(Object.keys(apps)).toEqual(["web"]);
    expect(notes).toEqual([
      "5:3: services.debug is not applied: it is in the profile debug, tools, which --profile chooses.",
    ]);
  });

  test.each([{ profiles: ["tools"] }, { profiles: ["*"] }, { env: { COMPOSE_PROFILES: "other,debug" } }])(
    "%j chooses",
    (inputs) => {
      expect(Object.keys(convert(TEXT, inputs).apps)).toEqual(["web", "debug"]);
    },
  );

  test("an unset variable of a service that is left out, or of a value that is replaced, is no matter, and one that is used is refused", () => {
    const text = [
      "services:",
      "  a: {image: 'a:1'}",
      "  b: {image: 'b:$TAG', volumes: ['$DATA/x:/y'], env_file: $ENV_FILE, profiles: [extra]}",
      "  c: {image: 'c:$TAG'}",
    ].join("\n");
    const other = "services: {c: {image: 'c:1'}}";
    const { problems, notes, apps } = convert(text, { others: [other] });
    expect(problems).toEqual([]);
    expect(notes.join()).toContain("services.b is not applied");
    expect(Object.keys(apps)).toEqual(["a", "c"]);
    expect(unset(convert(text, { others: [other], profiles: ["extra"] }).problems)).toEqual([
      "3:14: services.b.image uses the variable TAG",
      "3:34: services.b.volumes[0] uses the variable DATA",
      "3:59: services.b.env_file uses the variable ENV_FILE",
    ]);
    const used = `${text}\n  d: {extends: b, profiles: !reset []}\n  e: {extends: $NAME, profiles: [extra]}\n`;
    expect(unset(convert(used, { others: [other, "services: {d: {profiles: !reset []}}"] }).problems)).toEqual([
      "3:14: services.b.image uses the variable TAG",
      "3:34: services.b.volumes[0] uses the variable DATA",
      "3:59: services.b.env_file uses the variable ENV_FILE",
      "6:16: services.e.extends uses the variable NAME",
    ]);
  });

  test("an unset variable in a list of names that is merged with a map is refused", () => {
    const text = "services: {a: {image: 'a:1', networks: [$NET]}}";
    const { problems } = convert(text, { others: ["services: {a: {networks: {b: }}}\nnetworks: {b: }"] });
    expect(problems).toContainEqual(expect.stringContaining("services.a.networks[0] uses the variable NET"));
  });

  test("what depends on a service that is left out is refused, with the profile", () => {
    const { problems } = convert(TEXT.replace("always\n", "always\n    depends_on: [debug]\n"));
    expect(problems).toEqual([
      expect.stringContaining("which is in the profile debug, tools. Choose it with --profile debug."),
    ]);
  });

  test("a file of which all services are left out is refused", () => {
    expect(convert("services: {a: {image: a, profiles: [x]}}").problems).toEqual([
      expect.stringContaining("All services are in profiles. Choose with --profile x."),
    ]);
  });
});

test("COMPOSE_PROJECT_NAME names the project before the file does", () => {
  // This test's project is given, as on the command line.
  expect(convert(WEB, { env: { COMPOSE_PROJECT_NAME: "other" } }).written?.project).toBe("gw");
  expect(convert(`name: own\n${WEB}`, { project: undefined }).written?.project).toBe("own");
  expect(
    convert(`name: own\n${WEB}`, { project: undefined, env: { COMPOSE_PROJECT_NAME: "env" } }).written?.project,
  ).toBe("env");
});

test("`!!merge <<` is a merge key", () => {
  const text = "x-a: &a {image: 'w:1', restart: always}\nservices: {web: {!!merge <<: *a, user: '1'}}";
  expect(convert(text).apps["web"]).toEqual({ image: "w:1", restart_policy: "always", user: "1" });
});

test("an image that floats is pulled if it is missing, as in compose", () => {
  const pulls = ["web", "web:latest", "'web:1'", "web, pull_policy: always"].map(
    (image) => convert(`services: {a: {image: ${image}}}`).apps["a"]?.["pull"],
  );
  expect(pulls).toEqual(["missing", "missing", undefined, "always"]);
});

test("a service without `restart` is not restarted, as in compose, which is said once for all", () => {
  const { written, rawNotes } = convert(
    "services:\n  a: {image: a}\n  b: {image: b}\n  c: {image: c, restart: always}\n",
  );
  expect(written?.apps.map(({ fields }) => fields["restart_policy"])).toEqual(["no", "no", "always"]);
  expect(rawNotes).toEqual([expect.stringMatching(/^1:1: services \(a, b\) have no `restart`: as in compose/)]);
});
