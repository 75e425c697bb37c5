import { describe, expect, it } from "vitest";
import { createOptions } from "../../../src/agent/engine/docker/create-options.ts";
import { hasVolumeSubpaths } from "../../../src/agent/engine/docker/read-info.ts";
import { parseNewAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const SITE = { name: "web", target: "/site", subpath: "conf/site" };

const POLICY = {
  privileged: true,
  host_network: true,
  mounts: { allow: [], deny: [] },
  registries: { allow: [] },
  external_volumes: { allow: ["storage"] },
};

function newRig(volumeSubpaths = true): AgentRig {
  const rig = new AgentRig({ policy: POLICY });
  Object.assign(rig.engine.engineInfo, { volumeSubpaths });
  rig.engine.addImage(IMAGE, {
    user: "1000:1000",
    files: { "/site": { kind: "directory", mode: 0o700, owner: { uid: 7, gid: 7 }, content: undefined } },
  });
  return rig;
}

describe("a directory of a volume", () => {
  it("is mounted in place of the volume", async () => {
    await using rig = newRig();
    rig.engine.volumes.add("storage");
    const external = { external: "storage", target: "/storage", readonly: true, subpath: "b" };
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, volumes: [SITE, external] });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.engine.container("app")?.request.namedVolumes).toEqual([
      { name: "edge-agent.web", target: "/site", readonly: false, subpath: "conf/site" },
      { name: "storage", target: "/storage", readonly: true, isExternal: true, subpath: "b" },
    ]);
  });

  it("brings nothing of the image into a new volume, whose owner is the app's", async () => {
    await using rig = newRig();
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, volumes: [SITE] });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.events("d1").map(({ message }) => message)).toContain("Volume web is made, owned by 1000:1000.");
  });

  it.each(["deploy", "dry run"])(
    "is refused before anything changes where the engine would mount all of it: %s",
    async (how) => {
      await using rig = newRig(false);
      const request = { name: "app", image: IMAGE, volumes: [{ local: "/srv", target: "/srv" }, SITE] };
      rig.deployments.deploy("d1", request, how === "dry run" ? { dry_run: true } : {});
      expect(await rig.untilEnd("d1")).toMatchObject({
        status: "Fail",
        step: "checking",
        code: "InvalidRequest",
        message: expect.stringContaining("volumes[1].subpath asks: Docker can from 26 on"),
      });
      expect(rig.engine.volumes.names).toEqual([]);
      expect(rig.engine.containers).toEqual([]);
    },
  );
});

it.each([
  ["docker", "1.41", false],
  ["docker", "1.44", false],
  ["docker", "1.45", true],
  ["docker", "1.52", true],
  ["docker", "2.0", true],
  ["docker", "", false],
  ["podman", "1.45", false],
] as const)("%s with the interface %s can mount directories of volumes: %s", (kind, apiVersion, can) => {
  expect(hasVolumeSubpaths({ kind, apiVersion })).toBe(can);
});

it("is asked of the engine beside what fills a volume", () => {
  const mount = { name: "v", target: "/v", readonly: false, subpath: "a/b" };
  const request = {
    name: "app",
    image: IMAGE,
    labels: {},
    environment: [],
    ports: [],
    volumes: [],
    namedVolumes: [mount, { ...mount, target: "/w", isExternal: true as const }],
    hostNetwork: false,
    privileged: false,
    restartPolicy: "no" as const,
    logLimit: { maxBytes: 1, maxFiles: 1 },
  };
  const { HostConfig } = createOptions(request, { kind: "docker", isRootless: false });
  expect(HostConfig?.Mounts?.map(({ VolumeOptions }) => VolumeOptions)).toEqual([
    { NoCopy: true, Subpath: "a/b" },
    { Subpath: "a/b" },
  ]);
});

it.each(["/a", "a/", "..", "../a", "a/../b", "a//b", ".", "./a", "", "a\nb", "x".repeat(1025)])(
  "a path that is not one in the volume is refused: %j",
  (subpath) => {
    const parsed = parseNewAppSpec({ name: "app", image: IMAGE, volumes: [{ ...SITE, subpath }] });
    expect(parsed.ok ? undefined : parsed.error.details).toMatchObject({ issues: [{ path: "volumes[0].subpath" }] });
  },
);

it("of a path of the device is refused", () => {
  const parsed = parseNewAppSpec({
    name: "app",
    image: IMAGE,
    volumes: [{ local: "/srv", target: "/srv", subpath: "a" }],
  });
  expect(parsed.ok ? undefined : parsed.error.details).toMatchObject({ issues: [{ path: "volumes[0].subpath" }] });
});
