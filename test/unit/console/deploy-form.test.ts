import { describe, expect, it } from "vitest";
import {
  type AppForm,
  EMPTY_APP,
  EMPTY_DELIVERY,
  toDeployment,
  toUpdate,
} from "../../../src/console/pages/deploy/deploy-form.ts";
import { toForm } from "../../../src/console/pages/deploy/installed-app.ts";
import { deployRequestSchema, updateRequestSchema } from "../../../src/protocol/apps/deploy-request.ts";

const FORM: AppForm = {
  ...EMPTY_APP,
  name: " node-red ",
  image: "registry.example.com/team/node-red:4.1",
  ports: [
    { id: 1, host: "30080", target: "1880", protocol: "tcp" },
    { id: 2, host: "30081", target: "53", protocol: "udp" },
  ],
  variables: [
    { id: 3, key: "TZ", value: "UTC", isSecret: false, isKept: false },
    { id: 4, key: "PASSWORD", value: "hunter2222", isSecret: true, isKept: false },
  ],
  volumes: [
    { id: 5, source: "/var/lib/node-red", target: "/data", isReadonly: false },
    { id: 6, source: "shared", target: "/shared", isReadonly: true },
  ],
  command: "node-red\n --safe \n",
  memoryMb: "268,5",
  cpus: "0.5",
  restartPolicy: "always",
  others: '{"init": true, "hostname": "red"}',
};

const REQUEST = {
  name: "node-red",
  image: "registry.example.com/team/node-red:4.1",
  ports: [
    { host_port: 30_080, target_port: 1880 },
    { host_port: 30_081, target_port: 53, protocol: "udp" },
  ],
  environments: [
    { key: "TZ", value: "UTC" },
    { key: "PASSWORD", value: "hunter2222", secret: true },
  ],
  volumes: [
    { local: "/var/lib/node-red", target: "/data" },
    { name: "shared", target: "/shared", readonly: true },
  ],
  command: ["node-red", "--safe"],
  memory_limit: 268_500_000,
  cpu_limit: 0.5,
  restart_policy: "always",
  init: true,
  hostname: "red",
};

describe("the form of a deployment", () => {
  it("makes a request that the service accepts", () => {
    const built = toDeployment(FORM, EMPTY_DELIVERY);
    expect(built).toEqual({ ok: true, body: REQUEST });
    expect(deployRequestSchema.safeParse(REQUEST).success).toBe(true);
  });

  it("says how the deployment is carried out", () => {
    const delivery = {
      registryUser: "",
      registryPassword: "token",
      maxDownloadMb: "1.5",
      isUrgent: true,
      waitHours: "24",
    };
    const built = toDeployment({ ...EMPTY_APP, name: "a", image: "b" }, delivery);
    const body = {
      name: "a",
      image: "b",
      registry_auth: { token: "token" },
      max_download_bytes: 1_500_000,
      urgent: true,
      wait_for_device_s: 86_400,
    };
    expect(built).toEqual({ ok: true, body });
    expect(deployRequestSchema.safeParse(body).success).toBe(true);
  });

  it("names each field that is missing or no number", () => {
    const form = {
      ...EMPTY_APP,
      ports: [{ id: 1, host: "", target: "x", protocol: "tcp" as const }],
      memoryMb: "much",
      others: '{"ports": []}',
    };
    const built = toDeployment(form, { ...EMPTY_DELIVERY, registryUser: "ada" });
    expect(built.ok ? [] : built.issues.map(({ path }) => path)).toEqual([
      "name",
      "image",
      "memory_limit",
      "others",
      "ports.0.host_port",
      "ports.0.target_port",
      "registry_auth.password",
    ]);
    expect(toDeployment({ ...FORM, others: "[1]" }, EMPTY_DELIVERY).ok).toBe(false);
  });
});

describe("the form of an update", () => {
  const spec = {
    ...REQUEST,
    environments: [
      { key: "TZ", value: "***" },
      { key: "PASSWORD", value: "***", secret: true },
    ],
    files: [{ target: "/etc/app.conf", size_bytes: 12 }],
  };
  const installed = toForm(spec);

  it("shows an installed app as it is, with its secrets left out", () => {
    expect(installed).toMatchObject({ name: "node-red", memoryMb: "268.5", command: "node-red\n--safe" });
    expect(installed.variables).toMatchObject([{ key: "TZ" }, { key: "PASSWORD", value: "", isSecret: true }]);
    expect(JSON.parse(installed.others)).toEqual({ init: true, hostname: "red", files: spec.files });
  });

  it("sends only what was changed", () => {
    const form = { ...installed, ports: installed.ports.slice(1), memoryMb: "", volumes: [] };
    const built = toUpdate(form, installed, EMPTY_DELIVERY);
    const body = { ports: [REQUEST.ports[1]], memory_limit: null, volumes: [] };
    expect(built).toEqual({ ok: true, body });
    expect(updateRequestSchema.safeParse(body).success).toBe(true);
  });

  it("without a change asks what the image's tag means by now", () => {
    expect(toUpdate(installed, installed, EMPTY_DELIVERY)).toEqual({ ok: true, body: { image: REQUEST.image } });
  });

  it("keeps the fields of ports and volumes that it does not have", () => {
    const ports = [{ host_port: 30_080, target_port: 80, host_address: "127.0.0.1" }];
    const volumes = [{ name: "data", target: "/data", owner: "5", nocopy: true, shared: true, subpath: "a" }];
    const before = toForm({ ...spec, ports, volumes });
    const [port, volume] = [before.ports[0]!, before.volumes[0]!];
    const form = { ...before, ports: [{ ...port, host: "30081" }], volumes: [{ ...volume, target: "/srv" }] };
    expect(toUpdate(form, before, EMPTY_DELIVERY)).toEqual({
      ok: true,
      body: { ports: [{ ...ports[0], host_port: 30_081 }], volumes: [{ ...volumes[0], target: "/srv" }] },
    });
    const external = { external: "storage", target: "/data", nocopy: true };
    const engines = toForm({ ...spec, volumes: [external] });
    expect(engines.volumes[0]?.source).toBe("external:storage");
    const moved = { ...engines, volumes: [{ ...engines.volumes[0]!, target: "/srv" }] };
    expect(toUpdate(moved, engines, EMPTY_DELIVERY)).toEqual({
      ok: true,
      body: { volumes: [{ ...external, target: "/srv" }] },
    });
  });

  it("keeps a secret that was not typed anew", () => {
    const [zone, password] = installed.variables;
    const revealed = { ...installed, variables: [{ ...zone!, value: "UTC" }, password!] };
    const form = { ...revealed, variables: [{ ...zone!, value: "Europe/Berlin" }, password!] };
    expect(toUpdate(form, revealed, EMPTY_DELIVERY)).toEqual({
      ok: true,
      body: {
        environments: [
          { key: "TZ", value: "Europe/Berlin" },
          { key: "PASSWORD", secret: true },
        ],
      },
    });
  });
});
