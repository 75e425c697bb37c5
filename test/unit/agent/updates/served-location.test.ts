import { expect, it } from "vitest";
import { servedLocation, unencryptedService } from "../../../../src/agent/daemon/agent-updates.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

it("a release that the service serves is at the address the device connects to, with the device's token", () => {
  const served = { repository: "edge-agent", digest: DIGEST };
  expect(servedLocation(served, { control_plane_url: "wss://control.example.com/v1/agent", token: "secret" })).toEqual({
    reference: `control.example.com/edge-agent@${DIGEST}`,
    auth: { kind: "token", token: "secret" },
  });
});

it("only a service that is reached without encryption is asked for releases without it", () => {
  const url = "ws://10.0.0.1:8080/v1/agent";
  expect(unencryptedService({ control_plane_url: url })).toEqual([{ host: "10.0.0.1:8080", insecure: true }]);
  expect(unencryptedService({ control_plane_url: "wss://control.example.com/v1/agent" })).toEqual([]);
});
