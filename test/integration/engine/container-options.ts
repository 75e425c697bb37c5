import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { adopt } from "../../../src/agent/core/app/adopt.ts";
import { pathWithoutLinks } from "../../../src/agent/core/policy/resolved-path.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import { enginePrefix } from "../../../src/agent/engine/engine-prefix.ts";
import { engineVolumeName } from "../../../src/agent/engine/volume-names.ts";
import type { Engine } from "../../../src/agent/engine/engine.ts";
import type { ContainerStepContext } from "../../../src/agent/steps/context.ts";
import { hashSpec, runCreate } from "../../../src/agent/steps/create.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { type AppSpec, parseAppSpec } from "../../../src/protocol/app-spec.ts";
import { canonicalOptions } from "../../../src/protocol/canonical-options.ts";
import type { ContainerOptions } from "../../../src/protocol/container-options.ts";
import { type LoadedImage, engineRequest, loadImage, uniqueName, webImage } from "../../support/images.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { EngineUnderTest } from "./deployed-container.ts";

const unaborted = new AbortController().signal;

/** What `inspect` returns, as far as the cases look at it. */
interface Inspected {
  readonly Config: Readonly<Record<string, unknown>>;
  readonly HostConfig: Readonly<Record<string, unknown>>;
}

interface InspectedNetworks {
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly Aliases?: readonly string[] | null }>>;
  };
}

/** One value of an option, and how it shows in a container. */
interface Case<T> {
  readonly value: T;
  /** Fields of the app beside the option. */
  readonly more?: Partial<AppSpec>;
  /** What `inspect` of the engine contains. */
  readonly inspected: (kind: EngineUnderTest["kind"]) => { readonly [K in keyof Inspected]?: object };
  /** What `inspect` of Podman's own interface contains. */
  readonly podman?: object;
  /** A script in the container, and what its output contains. Absent where nothing shows inside. */
  readonly inside?: { readonly script: string; readonly output: RegExp };
  /** Why it does not run here; absent where it does. */
  readonly notStarted?: (kind: EngineUnderTest["kind"]) => string | undefined;
}

const STATUS = "cat /proc/self/status";
// Podman does not list a tmpfs in `HostConfig.Tmpfs` with the options it was created with.
const asPodman = <T>(kind: string, podman: T, docker: T): T => (kind === "podman" ? podman : docker);

/** Every option of a container. One that is missing here does not compile. */
const CASES: { readonly [K in keyof ContainerOptions]-?: Case<NonNullable<ContainerOptions[K]>> } = {
  entrypoint: {
    value: ["/bin/sh", "-c", 'echo "said $0"; exec sleep 2147483'],
    more: { command: ["more"] },
    inspected: (kind) => ({
      // Podman joins the list.
      Config: {
        Entrypoint: asPodman<unknown>(kind, expect.anything(), ["/bin/sh", "-c", expect.stringContaining("said")]),
      },
    }),
    inside: { script: "", output: /^said more$/m },
  },
  user: {
    value: "1234:2345",
    inspected: () => ({ Config: { User: "1234:2345" } }),
    inside: { script: STATUS, output: /Uid:\s+1234[^]*Gid:\s+2345/ },
  },
  working_dir: {
    value: "/www/cgi-bin",
    inspected: () => ({ Config: { WorkingDir: "/www/cgi-bin" } }),
    inside: { script: "pwd", output: /^\/www\/cgi-bin$/m },
  },
  cap_add: {
    value: ["NET_ADMIN"],
    inspected: () => ({ HostConfig: { CapAdd: [expect.stringMatching(/^(CAP_)?NET_ADMIN$/)] } }),
    // Its number in linux/capability.h: 12.
    inside: { script: STATUS, output: /CapPrm:\s+\w*[1357-9b-f]\w{3}\n/ },
  },
  cap_drop: {
    value: ["ALL"],
    inspected: (kind) => ({
      HostConfig: { CapDrop: asPodman<unknown>(kind, expect.arrayContaining(["CHOWN", "SETUID"]), ["ALL"]) },
    }),
    inside: { script: STATUS, output: /CapBnd:\s+0+\n/ },
  },
  read_only: {
    value: true,
    inspected: () => ({ HostConfig: { ReadonlyRootfs: true } }),
    inside: { script: "echo x > /www/file || echo refused", output: /^refused$/m },
  },
  tmpfs: {
    value: [
      { target: "/scratch", size_bytes: 65_536, mode: "0700" },
      { target: "/www/more" },
      { target: "/www/programs", exec: true },
    ],
    inspected: () => ({
      HostConfig: {
        Tmpfs: expect.objectContaining({ "/scratch": expect.stringContaining("size=65536") as string }) as object,
      },
    }),
    inside: {
      script: "sort -k 2 /proc/mounts",
      output:
        /tmpfs \/scratch tmpfs (?=\S*size=64k)(?=\S*mode=700)[^]*tmpfs \/www\/more tmpfs \S*noexec[^]*tmpfs \/www\/programs tmpfs (?!\S*noexec)/,
    },
  },
  shm_size: {
    value: 1_048_576,
    inspected: () => ({ HostConfig: { ShmSize: 1_048_576 } }),
    inside: { script: "cat /proc/mounts", output: / \/dev\/shm tmpfs \S*size=1024k/ },
  },
  ulimits: {
    value: [
      { name: "nofile", soft: 256, hard: 512 },
      { name: "core", soft: 0 },
    ],
    inspected: () => ({
      HostConfig: {
        Ulimits: expect.arrayContaining([
          { Name: expect.stringMatching(/nofile/i) as string, Soft: 256, Hard: 512 },
          { Name: expect.stringMatching(/core/i) as string, Soft: 0, Hard: 0 },
        ]) as object,
      },
    }),
    inside: { script: "cat /proc/self/limits", output: /Max core file size\s+0\s+0[^]*Max open files\s+256\s+512/ },
  },
  sysctls: {
    value: { "net.core.somaxconn": "777", "kernel.msgmax": "9000" },
    inspected: (kind) =>
      asPodman<object>(kind, {}, { HostConfig: { Sysctls: { "net.core.somaxconn": "777", "kernel.msgmax": "9000" } } }),
    inside: { script: "cat /proc/sys/net/core/somaxconn /proc/sys/kernel/msgmax", output: /^777\n9000$/m },
  },
  extra_hosts: {
    value: [
      { name: "plc.local", address: "192.0.2.10" },
      { name: "six", address: "2001:db8::1" },
      { name: "device", address: "host-gateway" },
    ],
    inspected: () => ({
      HostConfig: { ExtraHosts: expect.arrayContaining(["plc.local:192.0.2.10", "six:2001:db8::1"]) as object },
    }),
    inside: {
      script: "cat /etc/hosts",
      output: /(?=[^]*192\.0\.2\.10\s+plc\.local)(?=[^]*2001:db8::1\s+six)(?=[^]*\n(?!127)\d+\.\d+\.\d+\.1\s+device)/,
    },
  },
  dns: {
    value: ["192.0.2.53", "2001:db8::53"],
    inspected: () => ({ HostConfig: { Dns: ["192.0.2.53", "2001:db8::53"] } }),
    // Docker's own name service, which asks these servers for what is no app; Podman has none beside them.
    inside: {
      script: "cat /etc/resolv.conf",
      output: /nameserver (?:127\.0\.0\.11|192\.0\.2\.53\nnameserver 2001:db8::53)/,
    },
  },
  hostname: {
    value: "plc-1",
    inspected: () => ({ Config: { Hostname: "plc-1" } }),
    inside: { script: "cat /proc/sys/kernel/hostname", output: /^plc-1$/m },
  },
  labels: {
    value: { "com.example.team": "line 3" },
    inspected: () => ({ Config: { Labels: expect.objectContaining({ "com.example.team": "line 3" }) as object } }),
  },
  init: {
    value: true,
    inspected: () => ({ HostConfig: { Init: true } }),
    inside: { script: "cat /proc/1/comm", output: /init/ },
  },
  stop_signal: {
    value: "SIGINT",
    inspected: (kind) => ({ Config: { StopSignal: asPodman(kind, "2", "SIGINT") } }),
  },
  stop_grace_s: {
    value: 25,
    inspected: () => ({ Config: { StopTimeout: 25 } }),
  },
  log: {
    value: { max_bytes: 65_536, max_files: 2 },
    inspected: (kind) =>
      asPodman<object>(
        kind,
        {},
        { HostConfig: { LogConfig: { Type: "json-file", Config: { "max-size": "65536", "max-file": "2" } } } },
      ),
    // Its other interface names another driver. One file of the size of both.
    podman: { HostConfig: { LogConfig: { Type: "k8s-file", Size: "131.1kB" } } },
  },
  gpus: {
    value: { ids: ["0"] },
    inspected: (kind) =>
      asPodman<object>(
        kind,
        {},
        {
          HostConfig: { DeviceRequests: [expect.objectContaining({ DeviceIDs: ["0"], Capabilities: [["gpu"]] })] },
        },
      ),
    notStarted: () => "there is no GPU",
  },
  group_add: {
    value: ["20", "1234"],
    inspected: () => ({ HostConfig: { GroupAdd: expect.arrayContaining(["20", "1234"]) as object } }),
    inside: { script: STATUS, output: /Groups:[^\n]*\b20\b[^\n]*\b1234\b/ },
  },
  pids_limit: {
    value: 77,
    inspected: () => ({ HostConfig: { PidsLimit: 77 } }),
  },
  security_opt: {
    value: ["no-new-privileges", "seccomp=unconfined"],
    inspected: (kind) =>
      asPodman<object>(
        kind,
        {},
        { HostConfig: { SecurityOpt: expect.arrayContaining(["no-new-privileges", "seccomp=unconfined"]) as object } },
      ),
    inside: { script: STATUS, output: /(?=[^]*NoNewPrivs:\s+1\n)(?=[^]*Seccomp:\s+0\n)/ },
  },
};

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
            mounts: { allow: [], deny: [] },
            registries: { allow: [] },
          },
        },
        dataRoot: async () => "/var/lib/engine",
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
