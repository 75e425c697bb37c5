import { expect, it } from "vitest";
import { parseConfig } from "../../../../src/agent/config/load.ts";
import { listProtectedPaths } from "../../../../src/agent/config/protected-paths.ts";

const protectedPaths = (): ReturnType<typeof listProtectedPaths> => {
  const file = parseConfig('{"control_plane_url":"wss://c.example.com/v1/agent","device_token":"ed_x"}', "f");
  const config = { ...file, token: "ed_x", extraCa: undefined, path: "/etc/edge-agent/config.json" };
  return listProtectedPaths(config, {});
};

it.each(["/var/lib/edge-agent-releases", "/usr/lib/edge-agent", "/usr/bin/edge-agent"])(
  "no app gets %s to write, from which the agent is started",
  (path) => expect(protectedPaths()).toContainEqual({ path, when: "written" }),
);

it("no app gets the lock of the releases, which root in a container could take with a mount to read", () => {
  expect(protectedPaths()).toContainEqual({ path: "/run/edge-agent-updates", when: "always" });
});
