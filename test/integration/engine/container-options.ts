import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { adopt } from "../../../src/agent/core/app/adopt.ts";
import { pathWithoutLinks } from "../../../src/agent/core/policy/resolved-path.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import { enginePrefix } from "../../../src/agent/engine/engine-prefix.ts";
import { engineVolumeName } from "../../../src/agent/engine/volume-names.ts";
import type { Engine } from "../../../src/agent/engine/engine.ts";
import type { ContainerStepContext } from "../../../src/agent/steps/context.ts";
import { hashSpec, runCreate, toRequest } from "../../../src/agent/steps/create.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { type AppSpec, parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { canonicalOptions } from "../../../src/protocol/apps/canonical-options.ts";
import { run as runCommand } from "../../support/command.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { type LoadedImage, engineRequest, loadImage, uniqueName, webImage } from "../../support/images.ts";
import { forwardPacketsIn } from "../../support/private-engine/forward-packets.ts";
import { outsideHost } from "../../support/outside-host.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { EngineUnderTest } from "./deployed-container.ts";
import { type Case, CASES, type Inspected } from "./option-cases.ts";

const unaborted = new AbortController().signal;

/** A script for Node.js that fetches a URL, and fails where there is no answer. */
const FETCH = "fetch(process.argv[1]).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))";

interface InspectedNetworks {
  readonly NetworkSettings: {
    readonly Networks: Readonly<
      Record<string, { readonly Aliases?: readonly string[] | null; readonly IPAddress: string }>
    >;
  };
  readonly State: { readonly Pid: number };
}

/** Whether the page of an app is served at a port of this machine. */
async function answers(port: number): Promise<boolean> {
  // Podman takes connections of a port that leads nowhere, and never answers.
  const ask = { method: "HEAD", signal: AbortSignal.timeout(5_000) };
  return (await fetch(`http://127.0.0.1:${port}/busybox`, ask).catch(() => undefined))?.ok === true;
}

/** Each option of an app's container, from the specification to a real container and back. */
export function containerOptionsSuite(name: string, setUp: () => Promise<EngineUnderTest>, skip?: string): void {
  describe.skipIf(skip !== undefined)(`${name}${skip === undefined ? "" : ` (skipped: ${skip})`}`, () => {
    let host: EngineUnderTest;
    let image: LoadedImage;
    let engine: Engine;
    beforeAll(async () => {
      host = await setUp();
      image = await loadImage(host.socketPath, await webImage(), "web");
      engine = createDockerEngine({ socketPath: () => host.socketPath, clock: systemClock });
    });
    afterAll(async () => {
      await image[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    });

    function specWith(fields: Partial<AppSpec>): AppSpec {
      const parsed = parseAppSpec({ name: uniqueName("option"), image: image.reference, ...fields });
      if (!parsed.ok) throw parsed.error;
      return parsed.spec;
    }

    // Containers of an app are on a network of its agent.
    const stateDir = `/var/lib/${uniqueName("options")}`;
    afterAll(() => engine.networks.remove(enginePrefix(stateDir), unaborted));

    /** Creates the container as a deployment does. */
    async function create(spec: AppSpec): Promise<string> {
      const context = {
        engine,
        deploymentId: "d1",
        order: 1,
        observed: { containers: [], others: [] },
        signal: unaborted,
        host: { resolvePath: async (path: string) => pathWithoutLinks(path), readMounts: async () => [] },
        store: { apps: () => [], deployments: () => [] },
        config: {
          stateDir,
          networkSubnets: [],
          containerLog: { maxBytes: 100_000, maxFiles: 2 },
          protectedPaths: [],
          policy: {
            privileged: true,
            host_network: true,
            capabilities: { allow: ["ALL"] },
            security_opt: { allow: ["seccomp=unconfined"] },
            host_pid: true,
            external_networks: { allow: ["*"] },
            external_volumes: { allow: ["*"] },
            host_ipc: true,
            mounts: { allow: [], deny: [] },
            registries: { allow: [] },
          },
        },
        engineInfo: async () => ({ dataRoot: "/var/lib/engine" }),
      } as unknown as ContainerStepContext;
      const step = {
        kind: "create",
        spec,
        image: image.reference,
        deploymentId: "d1",
        place: "app",
        previousImageId: undefined,
        refetch: false,
      } as const;
      onTestFinished(() => engine.removeContainer(spec.name, unaborted));
      const { failure, observed } = await runCreate(context, step);
      expect(failure).toBeUndefined();
      return observed?.containers?.[0]?.id ?? "";
    }

    /** Returns the specification that the agent reads back from the container. */
    async function readBack(id: string, spec: AppSpec): Promise<AppSpec | undefined> {
      const config = await engine.readContainerConfig(id, unaborted);
      const labels = (await engine.inspectContainer(id, unaborted))?.labels ?? {};
      if (!config) return undefined;
      const found = { ...config, app: spec.name, deploymentId: "d1", containerId: id, labels };
      return adopt(found, (candidate) => hashSpec(candidate) === hashSpec(spec))?.spec;
    }

    async function inspect(id: string, path: string = ""): Promise<Inspected> {
      const { body } = await engineRequest(host.socketPath, "GET", `${path}/containers/${id}/json`);
      return JSON.parse(body) as Inspected;
    }

    /** Runs an app that serves a page, and returns its addresses and what it gets from a URL. */
    async function serve(fields: Partial<AppSpec>) {
      const id = await create(specWith({ command: ["/bin/sh", "-c", "exec httpd -f -p 8080 -h /bin"], ...fields }));
      await engine.startContainer(id, unaborted);
      const { NetworkSettings: settings, State: state } = (await inspect(id)) as unknown as InspectedNetworks;
      const [network] = Object.values(settings.Networks);
      const inside = ["--net", "--target", String(state.Pid), process.execPath, "-e", FETCH];
      return {
        address: network?.IPAddress ?? "",
        url: `http://${network?.IPAddress ?? ""}:8080/busybox`,
        gets: async (url: string) => (await runCommand("nsenter", [...inside, url])).code === 0,
      };
    }

    test("hostname: a variable of the app with the same value is read back, unless the engine sets it", async () => {
      const environments = [
        { key: "HOSTNAME", value: "plc-1" },
        { key: "TERM", value: "xterm" },
      ];
      const spec = specWith({ hostname: "plc-1", environments });
      // Podman gives every container these two. It lists them as the app's own: without them, the container is the same.
      const readable = host.kind === "podman" ? specWith({ ...spec, environments: [] }) : spec;
      expect(await readBack(await create(spec), spec)).toEqual(readable);
    });

    test("host_address: a port is published there only, and read back", async () => {
      const ports = [{ host_port: 32_099, target_port: 80, host_address: "127.0.0.1" }];
      const spec = specWith({ ports });
      const id = await create(spec);
      const bindings = { "80/tcp": [{ HostIp: "127.0.0.1", HostPort: "32099" }] };
      expect(await inspect(id)).toMatchObject({ HostConfig: { PortBindings: bindings } });
      expect(await readBack(id, spec)).toEqual(spec);
      const everywhere = specWith({ ports: [{ host_port: 32_099, target_port: 80 }] });
      expect(await readBack(await create(everywhere), everywhere)).toEqual(everywhere);
    });

    test("aliases: another container finds the app by them", async ({ skip }) => {
      const spec = specWith({ aliases: ["further-name"] });
      const id = await create(spec);
      await engine.startContainer(id, unaborted);
      const { NetworkSettings: settings } = (await inspect(id)) as unknown as InspectedNetworks;
      const aliases = Object.values(settings.Networks).flatMap(({ Aliases }) => Aliases ?? []);
      expect(aliases).toEqual(expect.arrayContaining([spec.name, "further-name"]));
      expect(await readBack(id, spec)).toEqual(spec);
      if (host.kind === "podman") skip("Debian's Podman has no name service in every set-up");
      const command = ["/bin/sh", "-c", "nslookup further-name && echo found; exec sleep 2147483"];
      const other = await create(specWith({ command }));
      await engine.startContainer(other, unaborted);
      await waitFor("the app to be found", async () =>
        (await engine.tailLogs(other, 100, unaborted)).join("\n").includes("found"),
      );
    });

    test("external: an app has a network and a volume that are there, and both are read back", async () => {
      const [network, volume] = [uniqueName("net"), uniqueName("volume")];
      const container = { image: image.reference, labels: {}, target: "/nothing" };
      onTestFinished(async () => {
        await engine.networks.remove(network, unaborted);
        await engine.volumes.remove(volume, unaborted);
      });
      await engine.networks.create({ name: network, labels: {} }, unaborted);
      await engine.volumes.create({ name: volume, labels: {}, container }, unaborted);
      const volumes = [{ external: volume, target: "/data", readonly: false }];
      const spec = specWith({ volumes, networks: [network], external_networks: [network] });
      const id = await create(spec);
      const { Mounts: mounts, NetworkSettings: settings } = (await inspect(id)) as unknown as InspectedNetworks & {
        readonly Mounts: object;
      };
      expect(mounts).toMatchObject([{ Type: "volume", Name: volume, Destination: "/data" }]);
      expect(Object.keys(settings.Networks)).toEqual([network]);
      expect(await readBack(id, spec)).toEqual(spec);
    });

    test("internal_networks: the engine has them lead nowhere, and others of the same name lead out", async () => {
      const prefix = enginePrefix(stateDir);
      const names = [`${prefix}.open`, `${prefix}.closed`, `${prefix}-internal.closed`];
      for (const name of names) onTestFinished(() => engine.networks.remove(name, unaborted));
      const spec = specWith({ networks: ["closed", "open"], internal_networks: ["closed"] });
      const id = await create(spec);
      expect(await readBack(id, spec)).toEqual(spec);
      await engine.startContainer(id, unaborted);
      const { NetworkSettings: settings } = (await inspect(id)) as unknown as InspectedNetworks;
      expect(Object.keys(settings.Networks).toSorted()).toEqual([`${prefix}-internal.closed`, `${prefix}.open`]);
      await create(specWith({ networks: ["closed"] }));
      const isInternal = await Promise.all(
        names.map(async (name) => {
          const { body } = await engineRequest(host.socketPath, "GET", `/networks/${name}`);
          return (JSON.parse(body) as { readonly Internal?: boolean }).Internal;
        }),
      );
      expect(isInternal).toEqual([false, false, true]);
    });

    test("internal_networks: apps reach each other there, and nothing outside, nor does anybody outside reach them", async () => {
      const prefix = enginePrefix(stateDir);
      const names = [`${prefix}.way-out`, `${prefix}-internal.no-way-out`];
      for (const each of names) onTestFinished(() => engine.networks.remove(each, unaborted));
      await using outside = await outsideHost();
      const [host_port, open_port] = [await freeHostPort(), await freeHostPort()];
      const closed = { networks: ["no-way-out"], internal_networks: ["no-way-out"] };
      const open = await serve({ networks: ["way-out"], ports: [{ host_port: open_port, target_port: 8080 }] });
      const one = await serve({ ...closed, ports: [{ host_port, target_port: 8080 }] });
      const other = await serve(closed);
      await waitFor("an app on another network to reach a host outside", () => open.gets(outside.url));
      expect(await one.gets(outside.url)).toBe(false);
      // The machine's Docker drops what containers of another engine send each other where they have no way out.
      await using _rule =
        host.kind === "podman" ? await forwardPacketsIn(one.address.replace(/\d+$/, "0/24")) : undefined;
      await waitFor(
        "the apps on it to reach each other",
        async () => (await one.gets(other.url)) && other.gets(one.url),
      );
      await waitFor("the other app's port to answer", () => answers(open_port));
      expect(await answers(host_port)).toBe(false);
    });

    test("volumes: the whole device, and a missing directory beside that of the engine's own data", async () => {
      const { dataRoot } = await engine.info(unaborted);
      const made = join(dirname(dataRoot), uniqueName("beside"));
      onTestFinished(() => rm(made, { recursive: true, force: true }));
      const labels = { "io.edge-agent.app": uniqueName("helped"), "io.edge-agent.state-dir": stateDir };
      const root = { owner: { uid: 0, gid: 0 }, mode: 0o755 };
      await engine.makeDirectory({ image: image.reference, path: join(made, "data"), labels, ...root }, unaborted);
      expect(await readdir(made)).toEqual(["data"]);
      const volumes = [
        { local: "/", target: "/host", readonly: true },
        { local: join(made, "data"), target: "/data", readonly: false },
      ];
      const command = ["/bin/sh", "-c", `test -d /host${made} && echo found; exec sleep 2147483`];
      const id = await create(specWith({ command, volumes }));
      await engine.startContainer(id, unaborted);
      await waitFor("the directory to be seen", async () =>
        (await engine.tailLogs(id, 1, unaborted)).includes("found"),
      );
    });

    test("files: inside of a volume and of a directory in memory, and by no link of the volume outside of the app", async () => {
      await using directory = await tempDir();
      const [volume, outside, source] = ["volume", "outside", "a.conf"].map((each) => join(directory.path, each)) as [
        string,
        string,
        string,
      ];
      await mkdir(outside);
      await mkdir(join(volume, "sub"), { recursive: true });
      await symlink(outside, join(volume, "link"));
      await writeFile(source, "placed\n");
      const targets = ["/data/a.conf", "/data/sub/a.conf", "/memory/a.conf", "/data/link/a.conf"];
      const command = ["/bin/sh", "-c", `cat ${targets.join(" ")}; echo end; exec sleep 2147483`];
      const spec = specWith({
        command,
        volumes: [{ local: volume, target: "/data", readonly: false }],
        tmpfs: [{ target: "/memory" }],
      });
      const config = { stateDir, containerLog: { maxBytes: 100_000, maxFiles: 2 } };
      const step = { kind: "create", spec, image: image.reference, deploymentId: "d1", place: "app" } as const;
      const request = toRequest(
        { config } as unknown as ContainerStepContext,
        { ...step, previousImageId: undefined, refetch: false },
        targets.map((target) => ({ source, target })),
      );
      const id = await engine.createContainer(request, unaborted);
      await using _container = { [Symbol.asyncDispose]: () => engine.removeContainer(id, unaborted) };
      await engine.startContainer(id, unaborted);
      const lines = () => engine.tailLogs(id, 10, unaborted);
      await waitFor("the files to be read", async () => (await lines()).join().includes("end"));
      expect(await lines()).toEqual([...targets.map(() => "placed"), "end"]);
      expect(await readFile(join(volume, "sub", "a.conf"), "utf8")).toBe("");
      expect(await readdir(outside)).toEqual([]);
    });

    test("tmpfs: inside of a volume, and by no link of the volume outside of the app", async () => {
      await using directory = await tempDir();
      const [volume, outside] = [join(directory.path, "volume"), join(directory.path, "outside")];
      await mkdir(outside);
      await mkdir(volume);
      await symlink(outside, join(volume, "link"));
      const targets = ["/data/scratch", "/data/link/scratch"];
      const writes = targets.map((target) => `echo x > ${target}/file`).join(" && ");
      const command = ["/bin/sh", "-c", `${writes}; grep -c "/scratch tmpfs" /proc/mounts; exec sleep 2147483`];
      const volumes = [{ local: volume, target: "/data", readonly: false }];
      const spec = specWith({ command, volumes, tmpfs: targets.map((target) => ({ target })) });
      const id = await create(spec);
      expect(await readBack(id, spec)).toEqual(spec);
      await engine.startContainer(id, unaborted);
      await waitFor("the mounts to be counted", async () => (await engine.tailLogs(id, 1, unaborted)).length > 0);
      expect(await engine.tailLogs(id, 10, unaborted)).toEqual(["2"]);
      expect(await readdir(join(volume, "scratch"))).toEqual([]);
      expect(await readdir(outside)).toEqual([]);
    });

    test("nocopy: a volume begins without what the image has there", async () => {
      for (const [more, isEmpty] of [
        [{ nocopy: true }, true],
        [{}, false],
      ] as const) {
        const name = uniqueName("volume");
        onTestFinished(() => engine.volumes.remove(engineVolumeName(name, stateDir), unaborted));
        const command = ["/bin/sh", "-c", "echo [$(ls -A /www)]; exec sleep 2147483"];
        const spec = specWith({ command, volumes: [{ name, target: "/www", readonly: false, ...more }] });
        const id = await create(spec);
        expect(await readBack(id, spec)).toEqual(spec);
        await engine.startContainer(id, unaborted);
        await waitFor("the list of files", async () => (await engine.tailLogs(id, 1, unaborted)).length > 0);
        expect((await engine.tailLogs(id, 1, unaborted))[0] === "[]").toBe(isEmpty);
        await engine.removeContainer(id, unaborted);
      }
    });

    test.for(Object.entries(CASES) as [string, Case<unknown>][])("%s", async ([field, expected], { skip }) => {
      const { value, more = {}, inspected, inside, podman, notStarted } = expected;
      const command = inside?.script ? ["/bin/sh", "-c", `${inside.script}; exec sleep 2147483`] : undefined;
      const spec = specWith({ ...(command && { command }), ...more, [field]: value });
      const why = notStarted?.(host.kind);
      if (why !== undefined && host.kind === "podman") skip(why);
      const id = await create(spec);
      expect(await inspect(id)).toMatchObject(inspected(host.kind));
      if (podman && host.kind === "podman") expect(await inspect(id, "/v4.0.0/libpod")).toMatchObject(podman);
      expect(await readBack(id, spec)).toEqual({ ...spec, ...canonicalOptions(spec) });
      if (!inside) return;
      await engine.startContainer(id, unaborted);
      await waitFor(`the output of ${field}`, async () =>
        inside.output.test((await engine.tailLogs(id, 100, unaborted)).join("\n")),
      );
    });
  });
}
