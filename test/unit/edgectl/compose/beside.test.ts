import { describe, expect, test } from "vitest";
import { convert, convertWeb, variables, withListedDirectories } from "../../../support/edgectl/compose.ts";

describe("files beside the compose file", () => {
  const FILES = {
    "a.conf": "port 1\n",
    "conf/b.conf": "b",
    "conf/sub/c.bin": Buffer.from([0, 1, 255]),
    "run.sh": "#!/bin/sh",
  };

  test("a relative file comes with the app, a program stays one", () => {
    const { apps, notes } = convertWeb("volumes: ['./a.conf:/etc/a.conf:ro', ./run.sh:/run.sh]", "", {
      files: FILES,
      modes: { "run.sh": 0o755 },
    });
    expect(apps["web"]?.["files"]).toEqual([
      { target: "/etc/a.conf", content: "port 1\n" },
      { target: "/run.sh", content: "#!/bin/sh", mode: "0555" },
    ]);
    expect(notes).toEqual([expect.stringContaining("mounts ./run.sh. The file comes with the app")]);
  });

  test("a file that others may not read keeps its rights and its owner", () => {
    const { apps } = convertWeb("volumes: ['./a.conf:/a:ro', './run.sh:/run.sh:ro']", "", {
      files: FILES,
      modes: { "a.conf": 0o600, "run.sh": 0o750 },
    });
    expect(apps["web"]?.["files"]).toEqual([
      { target: "/a", content: "port 1\n", mode: "0400", owner: "1000:1001" },
      { target: "/run.sh", content: "#!/bin/sh", mode: "0550", owner: "1000:1001" },
    ]);
  });

  test("what is outside of the file's directory is noted", () => {
    const lines =
      "env_file: /etc/gw.env\nvolumes: ['../a.conf:/a:ro', './conf/../../x:/x:ro', './a.conf:/b:ro']\nconfigs: [c]";
    const files = { ...FILES, "/etc/gw.env": "A=1", "../a.conf": "a", "../x/y": "y" };
    const { notes, problems } = convertWeb(lines, "configs: {c: {file: ../a.conf}}", { files });
    expect(problems).toEqual([]);
    expect(notes.map((note) => note.replace(/^[^ ]+ /, ""))).toEqual([
      "services.web.env_file takes /etc/gw.env, which is outside of the directory of this file.",
      "services.web.volumes[0] takes ../a.conf, which is outside of the directory of this file.",
      "services.web.volumes[1] takes ./conf/../../x, which is outside of the directory of this file.",
      "configs.c takes ../a.conf, which is outside of the directory of this file.",
    ]);
  });

  test("a relative directory comes as a whole, with the programs in it", () => {
    const { apps } = convertWeb("volumes: [{type: bind, source: conf, target: /etc/app/, read_only: true}]", "", {
      files: FILES,
      modes: { "conf/b.conf": 0o755 },
    });
    expect(withListedDirectories(apps["web"]?.["files"])).toEqual([
      { target: "/etc/app", directory: { "b.conf": "555 b", "sub/c.bin": "444 \0\u0001\u00ff" } },
    ]);
  });

  test.each([
    ["a volume of the app is inside", "['./conf:/etc/app:ro', 'data:/etc/app/sub/data']", {}],
    ["a file of the app is inside", "['./conf:/etc/app:ro', './a.conf:/etc/app/a.conf:ro']", {}],
    ["a file in it is not for all", "['./conf:/etc/app:ro']", { "conf/b.conf": 0o640 }],
    ["the engine has files in it", "['./conf:/etc:ro']", {}],
  ])("a relative directory comes in parts where %s", (_what, volumes, modes) => {
    const { apps, problems } = convertWeb(`volumes: ${volumes}`, "volumes: {data: }", { files: FILES, modes });
    expect(problems).toEqual([]);
    const files = apps["web"]?.["files"] as readonly { readonly target: string }[];
    const inParts = files.some(({ target }) => target.endsWith("/sub"));
    const sub = inParts
      ? {
          target: expect.stringMatching(/^\/etc(\/app)?\/sub$/) as string,
          directory: { "c.bin": "444 \0\u0001\u00ff" },
        }
      : { target: "/etc/app/sub/c.bin", content_base64: "AAH/" };
    expect(withListedDirectories(files)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ target: expect.stringMatching(/^\/etc(\/app)?\/b\.conf$/) as string, content: "b" }),
        expect.objectContaining(sub),
      ]),
    );
    expect(inParts).toBe(/a\.conf:|conf:\/etc:/.test(volumes));
  });

  test("a home directory is a volume where it is missing or empty, and refused where it has files", () => {
    const inputs = { env: { HOME: "/home/op" }, files: { "/home/op/full/key": "planted" } };
    const { apps, notes } = convertWeb("volumes: ['~/game_data:/data']", "", inputs);
    expect(apps["web"]?.["volumes"]).toEqual([
      {
        name: expect.stringMatching(/^gw_game-data-[0-9a-f]{8}$/) as string,
        target: "/data",
        readonly: false,
        nocopy: true,
      },
    ]);
    expect(notes).toEqual([expect.stringContaining("mounts ~/game_data, which is empty here")]);
    for (const source of ["~/full", "~/full/key", "~/settings.json", "~root/x", "~"]) {
      const { problems } = convertWeb(`volumes: ['${source}:/data']`, "", inputs);
      expect(problems, source).toEqual([expect.stringContaining("names what is in a home directory")]);
    }
  });

  test("up to 4096 files and 16 MiB, and 64 one by one", () => {
    const directory = "volumes: ['./d:/d:ro']";
    expect(convertWeb(directory, "", { files: many(500, 4096) }).problems).toEqual([]);
    expect(convertWeb(directory, "", { files: many(4096) }).problems.join()).toContain("more than 4096");
    const inner = convertWeb("volumes: ['./d:/d:ro', 'data:/d/data']", "volumes: {data: }", { files: many(65) });
    expect(inner.problems.join()).toContain(
      "inside of /d, whose files and directories beside them then come one by one",
    );
    const [name = ""] = Object.keys(many(1));
    const some = convertWeb(directory, "", { files: many(65), modes: { [name]: 0o600 } });
    expect(some.problems).toEqual([expect.stringContaining("some of which others may not read")]);
  });

  test("of a directory with another mount inside, those beside it come whole, and what it hides does not come", () => {
    const files = {
      ...Object.fromEntries(Object.entries(many(100)).map(([name, content]) => [`app/src/${name}`, content])),
      "app/package.json": "{}",
      "app/modules/hidden.js": "x",
      "app/lib/own/a.js": "a",
      "app/lib/mounted/hidden.js": "x",
      "other.js": "other",
    };
    const lines = "volumes: ['./app:/app', '/app/modules/', 'data:/app/lib/mounted', './other.js:/app/lib/other.js']";
    const { apps, problems } = convertWeb(lines, "volumes: {data: }", { files });
    expect(problems).toEqual([]);
    const written = apps["web"]?.["files"] as readonly { readonly target: string; readonly directory?: boolean }[];
    expect(written.map(({ target, directory = false }) => [target, directory])).toEqual([
      ["/app/package.json", false],
      ["/app/lib/own", true],
      ["/app/src", true],
      ["/app/lib/other.js", false],
    ]);
  });

  test("a path that begins with the directory of the shell is beside the file", () => {
    const inputs = { files: { "conf/a.conf": "x" }, env: { PWD: "/home/project" } };
    const lines =
      "volumes: ['${PWD}/conf/a.conf:/a.conf', '$PWD/data:/data', {type: bind, source: '${PWD}/conf/a.conf', target: /b}]";
    const { apps, problems } = convertWeb(lines, "", inputs);
    expect(problems).toEqual([]);
    expect(apps["web"]).toMatchObject({ files: [{ target: "/a.conf" }, { target: "/b" }] });
    const relative = convertWeb("volumes: ['./data:/data']", "", inputs);
    expect(apps["web"]?.["volumes"]).toEqual(relative.apps["web"]?.["volumes"]);
    const elsewhere = convertWeb("volumes: ['/home/project/conf/a.conf:/a']", "", inputs);
    expect(elsewhere.apps["web"]?.["volumes"]).toMatchObject([{ local: "/home/project/conf/a.conf" }]);
  });

  test("configurations and secrets are files", () => {
    const rest = [
      "configs:",
      "  a: {file: ./a.conf}",
      "  text: {content: 'level = ${LEVEL}'}",
      "secrets:",
      "  password: {environment: PASSWORD}",
      "  key: {file: ./a.conf}",
    ].join("\n");
    const lines = [
      "configs: [a, {source: text, target: /etc/text, mode: 0440, uid: '1000', gid: 1000}]",
      "secrets: [password, {source: key, target: tls.key}]",
    ].join("\n");
    const { apps, problems } = convertWeb(lines, rest, { files: FILES, env: { LEVEL: "info", PASSWORD: "p" } });
    expect(problems).toEqual([]);
    expect(apps["web"]?.["files"]).toEqual([
      { target: "/a", content: "port 1\n", mode: "0444" },
      { target: "/etc/text", content: "level = info", mode: "0440", owner: "1000:1000" },
      { target: "/run/secrets/password", content: "p", mode: "0444", secret: true },
      { target: "/run/secrets/tls.key", content: "port 1\n", mode: "0444", secret: true },
    ]);
  });

  test("a mode without a leading zero would be decimal", () => {
    const { problems } = convertWeb("configs: [{source: a, mode: 440}]", "configs: {a: {content: x}}");
    expect(problems).toEqual([expect.stringContaining("in octal")]);
  });

  test("env_file: later files and `environment` take precedence", () => {
    const files = { "a.env": "A=1\nB=1\nC=1\n", "b.env": "B=2\nC=2" };
    const { apps } = convertWeb(
      "env_file: [a.env, {path: b.env}, {path: none.env, required: false}]\nenvironment: [C=3]",
      "",
      { files },
    );
    expect(apps["web"]?.["environments"]).toEqual(variables({ A: "1", B: "2", C: "3" }));
  });

  test("the variables of an earlier env_file are known in a later one", () => {
    const files = { "a.env": "HOST=db\n", "b.env": "URL=http://$HOST/\n" };
    const { apps } = convertWeb("env_file: [a.env, b.env]", "", { files });
    expect(apps["web"]?.["environments"]).toEqual(variables({ HOST: "db", URL: "http://db/" }));
  });

  test("an env_file in another format is refused", () => {
    const { problems } = convertWeb("env_file: [{path: a.env, format: raw}]", "", { files: { "a.env": "A=1" } });
    expect(problems).toEqual([expect.stringMatching(/env_file\[0\]\.format is not supported\. Remove it, and put/)]);
  });

  test("a problem in an env_file names that file and its line", () => {
    const { problems, notes } = convertWeb("env_file: a.env", "", { files: { "a.env": "A=1\n=planted\nUNSET\n" } });
    expect(problems).toEqual(["a.env:2:1: This line is not NAME=value."]);
    expect(notes).toEqual([
      "a.env:3:1: UNSET has no value here, in this shell or in .env: it is left out, as in compose.",
    ]);
  });
});

describe("directories that compose would make", () => {
  test.each(["./data", "data/../data/", "./conf.d"])("%s is a volume that begins empty", (source) => {
    const { apps, notes, problems } = convertWeb(`volumes: [{type: bind, source: ${source}, target: /data}]`);
    expect(problems).toEqual([]);
    const name = expect.stringMatching(/^gw_(?:data|conf-d)-[0-9a-f]{8}$/) as string;
    expect(apps["web"]?.["volumes"]).toEqual([{ name, target: "/data", readonly: false, nocopy: true }]);
    expect(notes).toEqual([expect.stringMatching(/which is empty here: on the device it is the volume gw_/)]);
  });

  test("that are there, but for what keeps them in git, are such volumes too", () => {
    const { apps } = convertWeb("volumes: ['./data:/data:ro']", "", { files: { "data/.gitkeep": "" } });
    expect(apps["web"]?.["volumes"]).toMatchObject([{ target: "/data", readonly: true, nocopy: true }]);
  });

  test("have names that differ where their paths do, and from those of the file's volumes", () => {
    const lines = "volumes: ['./a/b:/1', './a-b:/2', './a_b:/3', 'a-b:/4', './A-b:/5', '../a-b:/6']";
    const { apps } = convertWeb(lines, "volumes: {a-b: }");
    const volumes = (apps["web"]?.["volumes"] ?? []) as { readonly name: string }[];
    expect(new Set(volumes.map(({ name }) => name)).size).toBe(6);
    const long = convertWeb(`volumes: ['./${"long-name-".repeat(20)}:/1']`).apps["web"]?.["volumes"];
    expect((long as { readonly name: string }[])[0]?.name).toMatch(/^gw_long-name-.*-[0-9a-f]{8}$/);
    expect((long as { readonly name: string }[])[0]?.name).toHaveLength(63);
  });
});

const sharedIn = (text: string, isShared: boolean): boolean[][] =>
  Object.values(convert(text, { sharedVolumes: isShared }).apps).map((app) =>
    (app["volumes"] as { readonly shared?: boolean }[]).map(({ shared = false }) => shared),
  );

describe("volumes", () => {
  const TWO =
    "services: {a: {image: a, volumes: ['d:/d']}, b: {image: b, volumes: ['d:/d', 'own:/own']}, c: {image: c, volumes: ['d:/d:ro']}}\nvolumes: {d: , own: }";

  test("that several services write to are shared where the command says so", () => {
    expect(sharedIn(TWO, true)).toEqual([[true], [true, false], [false]]);
    expect(sharedIn(TWO, false)).toEqual([[false], [false, false], [false]]);
  });

  test("bound to a path of the device are that path", () => {
    const rest = "volumes: {d: {driver: local, driver_opts: {type: none, o: 'bind', device: /srv/data}}}";
    const { apps, problems } = convertWeb("volumes: ['d:/d:nocopy']", rest);
    expect(problems).toEqual([]);
    expect(apps["web"]?.["volumes"]).toEqual([{ local: "/srv/data", target: "/d", readonly: false }]);
  });

  test("in memory are directories in memory of the service that mounts them, and refused where several would share them", () => {
    const rest = "volumes: {m: {driver: local, driver_opts: {type: tmpfs, device: tmpfs, o: 'size=64m,uid=1000'}}}";
    const { apps, problems, notes } = convertWeb("volumes: ['m:/m']", rest);
    expect(problems).toEqual([]);
    expect(apps["web"]).toMatchObject({ tmpfs: [{ target: "/m", size_bytes: 2 ** 26, owner: "1000:0", exec: true }] });
    expect(apps["web"]).not.toHaveProperty("volumes");
    expect(notes.join("\n")).toContain("as a `tmpfs` of the service that mounts the volume");
    const noexec = rest.replace("size=64m", "noexec");
    expect(convertWeb("volumes: ['m:/m']", noexec).apps["web"]).toMatchObject({
      tmpfs: [{ target: "/m", owner: "1000:0" }],
    });
    expect(convertWeb("volumes: ['m:/m', 'm:/n']", rest).problems).toEqual([
      expect.stringContaining("driver_opts is not supported of a volume that is mounted more than once"),
    ]);
    expect(convertWeb("volumes: ['m:/m:ro']", rest).problems).toEqual([expect.stringContaining("only to read it")]);
    const wrong = rest.replace("64m", "half");
    expect(convertWeb("volumes: ['m:/m']", wrong).problems).toEqual([
      expect.stringContaining("has a size that is none"),
    ]);
  });

  test("of another file system are refused", () => {
    const rest = "volumes: {d: {driver_opts: {type: nfs, o: 'addr=nas', device: ':/data'}}}";
    expect(convertWeb("volumes: ['d:/d']", rest).problems).toEqual([
      expect.stringContaining("driver_opts is not supported"),
    ]);
  });
});

test("a path beside the file may be written as on Windows", () => {
  const { apps, problems } = convertWeb("volumes: ['.\\conf\\a.conf:/a.conf']", "", { files: { "conf/a.conf": "x" } });
  expect(problems).toEqual([]);
  expect(apps["web"]?.["files"]).toEqual([{ target: "/a.conf", content: "x" }]);
});

describe("names", () => {
  test("that links give are those of the other service", () => {
    const { apps } = convert("services: {a: {image: 'a:1', links: ['b:database', b]}, b: {image: 'b:1'}}");
    expect(apps).toEqual({
      a: { image: "a:1", depends_on: { b: "started" } },
      b: { image: "b:1", aliases: ["database"] },
    });
  });
});

/** Of a service with a fixed address, and another one. */
function withAddress(b: string): string {
  return `services: {a: {image: 'a:1', networks: {x: {ipv4_address: 10.0.0.5}}}, b: {image: 'b:1', ${b}}}\nnetworks: {x: }`;
}

test("external volumes have their own name, also in the first form, and it is said what they need", () => {
  const { apps, notes } = convertWeb(
    "volumes: ['a:/a:nocopy', 'b:/b:ro', 'c:/c', 'd:/d']",
    "volumes: {a: {external: true}, b: {external: true, name: shop_db}, c: {external: {name: old}}, d: {external: false}}",
  );
  expect(apps["web"]?.["volumes"]).toEqual([
    { external: "a", target: "/a", readonly: false, nocopy: true },
    { external: "shop_db", target: "/b", readonly: true },
    { external: "old", target: "/c", readonly: false },
    { name: "gw_d", target: "/d", readonly: false },
  ]);
  expect(notes).toEqual(Array(3).fill(expect.stringContaining("`policy.external_volumes.allow`")));
});

describe("networks", () => {
  test("external ones have their own name, and it is said which they are", () => {
    const { apps, notes } = convertWeb(
      "networks: [proxy, old]",
      "networks: {proxy: {external: true}, old: {external: {name: legacy}}}",
    );
    expect(apps["web"]).toMatchObject({ networks: ["proxy", "legacy"], external_networks: ["proxy", "legacy"] });
    expect(notes).toEqual(Array(2).fill(expect.stringContaining("`policy.external_networks.allow`")));
  });

  test("the default network is the project's, and one that other services may have too", () => {
    const { apps } = convert(
      "services: {a: {image: 'a:1', networks: [default, x]}, b: {image: 'b:1'}, c: {image: 'c:1', network_mode: host}}\nnetworks: {x: }",
    );
    expect(apps).toEqual({
      a: { image: "a:1", networks: ["gw_default", "gw_x"] },
      b: { image: "b:1" },
      c: { image: "c:1", host_network: true },
    });
    const { written } = convert("services: {a: {image: 'a:1'}, b: {image: 'b:1', network_mode: bridge}}");
    expect(written?.apps.map(({ fields }) => fields["networks"])).toEqual([["gw_default"], undefined]);
  });

  test("an address that no other service mentions is the device's choice; one that is mentioned in any place is not", () => {
    const near = convert(withAddress("environment: {A: '10.0.0.55', B: '110.0.0.5', C: '10.0.0.5.6'}"));
    expect(near.problems).toEqual([]);
    expect(near.notes).toEqual([expect.stringContaining("no service of this file mentions 10.0.0.5.")]);
    const files = { "b.conf": `# padding ${"x".repeat(4000)}\nserver\n10.0.0.5:53\n` };
    for (const b of [
      "dns: [10.0.0.5]",
      "command: 'dig @10.0.0.5'",
      'environment: {A: "\\n10.0.0.5#53"}',
      "extra_hosts: ['a:10.0.0.5']",
      "volumes: ['./b.conf:/b.conf']",
    ]) {
      const { problems } = convert(withAddress(b), { files });
      expect(problems, b).toEqual([expect.stringContaining("is mentioned by the service b")]);
      expect(problems[0]).toContain("Write the name a in place of 10.0.0.5 there");
    }
  });

  test("so it does when the file names it", () => {
    const { apps } = convert("services: {a: {image: 'a:1'}}\nnetworks: {default: {name: plant}}");
    expect(apps).toEqual({ a: { image: "a:1", networks: ["plant"] } });
  });
});

describe("variables", () => {
  test("are expanded in values and never in keys", () => {
    const { apps } = convertWeb("environment:\n  $KEY: $VALUE\n  COST: $$5", "", { env: { VALUE: "v", KEY: "k" } });
    expect(apps["web"]?.["environments"]).toEqual(variables({ $KEY: "v", COST: "$5" }));
  });

  test("that are not set are refused by line", () => {
    expect(convertWeb("hostname: ${HOST}\nuser: ${USER_ID:?the id of the user}").problems).toEqual([
      expect.stringMatching(/^4:15: services.web.hostname uses the variable HOST, which is not set./),
      expect.stringMatching(/^5:11: services.web.user needs the variable USER_ID: the id of the user./),
    ]);
  });

  test("an unset one in a mount is one problem", () => {
    const { problems } = convertWeb("volumes: ['${DATA_DIR}/x:/y']");
    expect(problems).toEqual([expect.stringMatching(/^4:15: services.web.volumes\[0\] uses the variable DATA_DIR/)]);
  });

  test("make a file no longer than 4 MiB", () => {
    const lines = Array.from({ length: 30 }, (_, index) => `  k${index}: $LONG`).join("\n");
    const { problems } = convertWeb(`labels:\n${lines}`, "", { env: { LONG: "x".repeat(200_000) } });
    expect(problems).toHaveLength(10);
    expect(problems[0]).toMatch(/^25:12: services.web.labels.k20 makes the file longer than 4 MiB/);
  });

  test("an extension of the file is left alone", () => {
    expect(convert("x-a: ${UNSET}\nservices: {web: {image: w}}").problems).toEqual([]);
  });
});

/** Files of a directory `d`. */
const many = (count: number, size = 1): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`d/${index}`, "x".repeat(size)]));
