import { expect, it, vi } from "vitest";
import { readDeviceState } from "../../../../src/agent/live/device-state.ts";
import { QUERIES } from "../../../../src/protocol/link/device-query.ts";
import { someState } from "../../../support/control-plane/device-samples.ts";
import { AgentRig } from "../../../support/agent-rig.ts";

it("the state of a device has the time of its own clock", async () => {
  await using rig = new AgentRig();
  // A gateway without a battery begins in 1970.
  vi.spyOn(rig.services.clock, "timeOfDay").mockReturnValue(86_400_999);
  const sources = {
    ...rig.services,
    stateDir: rig.services.config.stateDir,
    facts: async () => ({}) as never,
    readings: async () => ({}) as never,
    agentUptimeS: () => 1,
  };
  expect((await readDeviceState(sources, new AbortController().signal)).clock).toBe(86_400);
});

it("the state of a device with an older agent has no clock", () => {
  expect(QUERIES.device.answer.parse(someState())).not.toHaveProperty("clock");
});
