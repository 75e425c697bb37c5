import { createHash } from "node:crypto";
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { APPS, COMPOSE, done, planned, startApply } from "../../support/edgectl/apply-rig.ts";
import { event, json, stream } from "../../support/edgectl/scripted-service.ts";

/** An app of the device. */
const app = (name: string, project: string) => ({
  name,
  image: "m",
  state: "running",
  spec: { project },
  ports: [],
});

describe("edgectl apply of a compose file", () => {
  test("with .env, a file beside it, and the name of its directory as project", async () => {
    await using rig = await startApply();
    await rig.write(".env", "TAG=from-env-file\nOTHER=x\n");
    rig.answer(planned());
    const { code, stderr } = await rig.apply(COMPOSE.replace("1883:", "31883:"), "--dry-run");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(rig.body()).toMatchObject({
      project: "gw",
      apps: [
        { app: { name: "gw.mosquitto", networks: ["gw_default"], aliases: ["mosquitto"] } },
        { app: { image: "web:from-env-file" }, depends_on: [{ app: "gw.mosquitto" }] },
      ],
    });
  });

  test("this shell takes precedence over --env-file, and that replaces .env", async () => {
    await using rig = await startApply();
    await rig.write(".env", "TAG=default\nB=default\n");
    const file = await rig.write(
      "compose.yaml",
      "services: {web: {restart: always, image: '${TAG}', hostname: '${B}', user: '${C:-none}'}}",
    );
    const other = await rig.write("other.env", "TAG=other\nB=other\n");
    rig.answer(planned());
    const flags = ["--dry-run", "--env-file", other];
    const { stderr } = await rig.user.run(["apply", "GW-1", "-f", file, ...flags], { env: { ...rig.env, B: "shell" } });
    expect(stderr).toBe("");
    expect(rig.body()["apps"]).toMatchObject([{ app: { image: "other", hostname: "shell", user: "none" } }]);
  });

  test("a .env that is too long, or is none, is refused, and is not looked at with --env-file", async () => {
    await using rig = await startApply();
    await rig.write(".env", "A=".padEnd(256 * 1024 + 1, "x"));
    const long = await rig.apply(COMPOSE.replace("1883:", "31883:"), "--dry-run");
    expect([long.code, long.stderr]).toEqual([2, expect.stringContaining(".env is larger than 256 KiB")]);
    await rm(join(rig.directory, ".env"));
    await symlink("/dev/zero", join(rig.directory, ".env"));
    const endless = await rig.apply(COMPOSE.replace("1883:", "31883:"), "--dry-run");
    expect([endless.code, endless.stderr]).toEqual([2, expect.stringContaining(".env is not a file")]);
    expect(rig.requests()).toEqual([]);
    rig.answer(planned());
    const other = await rig.write("other.env", "TAG=1\n");
    expect((await rig.apply(COMPOSE.replace("1883:", "31883:"), "--dry-run", "--env-file", other)).code).toBe(0);
  });

  test("a link to a file elsewhere on this machine is noted", async () => {
    await using rig = await startApply();
    await mkdir(join(rig.directory, "conf"), { recursive: true });
    await symlink("/etc/hostname", join(rig.directory, "conf", "name"));
    rig.answer(planned());
    const { stderr } = await rig.apply("services: {web: {image: w, volumes: ['./conf:/conf:ro']}}", "--dry-run");
    expect(stderr).toMatch(/file\.yaml:1:\d+: services\.web\.volumes\[0\] takes conf\/name, which is outside/);
  });

  test("every problem is shown by line at once, and nothing is sent", async () => {
    await using rig = await startApply();
    const text =
      "services:\n  a:\n    build: .\n    uts: host\n  b:\n    image: b\n    ports: ['80:80']\n    cpuset: '0'\n";
    const { code, stderr } = await rig.apply(text, "--yes");
    expect(code).toBe(2);
    expect(stderr).toContain("cannot be used: 4 problems. Nothing was sent.");
    expect([...stderr.matchAll(/file\.yaml:(\d+):\d+: /g)].map(([, line]) => line)).toEqual(["3", "4", "7", "8"]);
    expect(rig.requests()).toEqual([]);
  });

  test("--map-ports shows each port before anything is sent to the device, the same at every repetition", async () => {
    await using rig = await startApply();
    const installed = {
      name: "gw.mosquitto",
      image: "m",
      state: "running",
      spec: {},
      ports: [{ host_port: 32_000, target_port: 1883, protocol: "tcp" }],
    };
    const none = json(200, { apps: [], reported_at: 1, reachable: true });
    rig.service.on(`GET ${APPS}`, none, none, json(200, { apps: [installed], reported_at: 1, reachable: true }));
    rig.answer(planned());
    const text = COMPOSE.replace("${TAG}", "1");
    const first = await rig.apply(text, "--dry-run", "--map-ports");
    expect(first.stdout).toMatch(
      /^Ports on the device:\n {2}gw\.mosquitto {2}30488:1883 {2}\(1883 in the file\)\nchecking/,
    );
    const second = await rig.apply(text, "--dry-run", "--map-ports");
    expect(second.stdout).toBe(first.stdout);
    const third = await rig.apply(text, "--dry-run", "--map-ports");
    expect(third.stdout).toContain("32000:1883");
    expect(rig.body()["apps"]).toMatchObject([
      { app: { ports: [{ host_port: 32_000, target_port: 1883 }] } },
      { app: { ports: [{ host_port: 30_080, target_port: 80 }] } },
    ]);
  });

  test("an app of the project that is installed under the service's name keeps it; another project's has no say", async () => {
    await using rig = await startApply();
    const apps = [app("mosquitto", "gw"), app("web", "other")];
    rig.service.on(`GET ${APPS}`, json(200, { apps, reported_at: 1, reachable: true }));
    rig.answer(planned());
    const { code } = await rig.apply(COMPOSE.replace("${TAG}", "1").replace("1883:", "31883:"), "--dry-run");
    expect(code).toBe(0);
    expect(rig.body()["apps"]).toMatchObject([
      { app: { name: "mosquitto", networks: ["gw_default"] } },
      { app: { name: "gw.web", aliases: ["web"] }, depends_on: [{ app: "mosquitto" }] },
    ]);
  });

  test("notes are shown before the plan", async () => {
    await using rig = await startApply();
    rig.answer(planned());
    const { stderr } = await rig.apply(
      "version: '3'\nservices: {web: {image: w, attach: false, restart: always}}\n",
      "--dry-run",
    );
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(/^Note: .*file\.yaml:1:1: version has no effect/),
      expect.stringMatching(/^Note: .*file\.yaml:2:28: services\.web\.attach has no effect/),
      "",
    ]);
  });

  test("what cannot be read is a problem by line, a loop of links too", async () => {
    await using rig = await startApply();
    await rig.write("conf/a.conf", "a");
    await symlink("loop", join(rig.directory, "loop"));
    await symlink(".", join(rig.directory, "conf", "again"));
    const text = [
      "services:",
      "  web:",
      "    image: w",
      "    env_file: nothing.env",
      "    volumes:",
      "      - ./loop:/loop",
      "      - ./conf:/conf",
    ];
    const { code, stderr } = await rig.apply(text.join("\n"), "--yes");
    expect(code).toBe(2);
    expect(stderr).toContain("file.yaml:4:5: services.web.env_file names nothing.env, which is not a file here.");
    expect(stderr).toContain(
      "file.yaml:6:9: services.web.volumes[0] mounts ./loop, which is neither a file nor a directory.",
    );
    expect(stderr).toContain("file.yaml:7:9: services.web.volumes[1] mounts ./conf");
    expect(rig.requests()).toEqual([]);
  });

  test("from standard input the project needs a name", async () => {
    await using rig = await startApply();
    const input = "services: {web: {image: w}}\n";
    const without = await rig.user.run(["apply", "GW-1", "-f", "-", "--yes"], { env: rig.env, input });
    expect(without.code).toBe(2);
    expect(without.stderr).toContain("--project NAME");
    rig.answer(planned());
    const named = await rig.user.run(["apply", "GW-1", "-f", "-", "--dry-run", "--project", "p"], {
      env: rig.env,
      input,
    });
    expect(named.code).toBe(0);
    expect(rig.body()).toMatchObject({ project: "p" });
  });
});

const sent = (body: Record<string, unknown>) => (body as { apps: { app: { files: object[] } }[] }).apps[0]?.app.files;

describe("files of a compose file that the device has", () => {
  const HTML = "<p>hello</p>".repeat(20);
  const SERVICES = "services: {web: {restart: always, image: 'web:1', volumes: ['./index.html:/www/index.html:ro']}}";
  const hash = createHash("sha256").update(HTML).digest("hex");
  const installed = (sha256: string) => {
    const files = [{ target: "/www/index.html", size: HTML.length, sha256, mode: "0444" }];
    return json(200, {
      apps: [{ ...app("gw.web", "gw"), spec: { project: "gw", files } }],
      reported_at: 1,
      reachable: true,
    });
  };
  const whole = { target: "/www/index.html", content: HTML };
  const known = { target: "/www/index.html", sha256: hash };

  test("are not sent again, neither for the comparison nor after it", async () => {
    await using rig = await startApply();
    await rig.write("index.html", HTML);
    rig.service.on(`GET ${APPS}`, installed(hash));
    rig.answer(planned(), done());
    const { code, stderr } = await rig.apply(SERVICES, "--yes");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect([sent(rig.body(0)), sent(rig.body(1))]).toMatchObject([[known], [known]]);
  });

  test("are sent where it has others, or does not have them after all", async () => {
    await using rig = await startApply();
    await rig.write("index.html", HTML);
    rig.service.on(`GET ${APPS}`, installed("0".repeat(64)));
    rig.answer(planned());
    await rig.apply(SERVICES, "--dry-run");
    expect(sent(rig.body())).toMatchObject([whole]);

    rig.service.on(`GET ${APPS}`, installed(hash));
    const issues = [{ path: "apps[0].app.files[0].sha256", reason: "is not that of a content" }];
    const refused = {
      status: "Fail",
      step: "checking",
      message: "The request is invalid.",
      code: "InvalidRequest",
      details: { issues },
    } as const;
    rig.answer(stream([event(1), event(2, refused)]), planned(), done());
    const { code } = await rig.apply(SERVICES, "--yes");
    expect(code).toBe(0);
    expect([rig.body(-3), rig.body(-2), rig.body(-1)].map(sent)).toMatchObject([[known], [whole], [whole]]);
  });
});
