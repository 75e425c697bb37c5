import { expect, it } from "vitest";
import { parseConfig } from "../../../../src/agent/config/load.ts";
import { listProtectedPaths } from "../../../../src/agent/config/protected-paths.ts";

it.each(["/var/lib/edge-agent-releases", "/usr/lib/edge-agent"])(
  "no app gets %s to write, from which the agent is started",
  (path) => {
    const file = parseConfig('{"control_plane_url":"wss://c.example.com/v1/agent","device_token":"ed_x"}', "f");
    const config = { ...file, token: "ed_x", extraCa: undefined, path: "/etc/edge-agent/config.json" };
    expect(listProtectedPaths(config, {})).toContainEqual({ path, when: "written" });
  },
);
