import { expect, it } from "vitest";
import { reachedAs } from "../../../src/protocol/apps/app-network.ts";

const ports = [
  { host_port: 30_001, target_port: 1883 },
  { host_port: 30_002, target_port: 514, protocol: "udp" as const },
  { host_port: 30_003, target_port: 1883 },
];

it.each([
  ["its ports in the container, each once", { ports }, ["mqtt:1883", "mqtt:514/udp"]],
  ["its name where no port is known", { ports: [] }, ["mqtt"]],
  ["its name on networks of its own", { networks: ["a"] }, ["mqtt"]],
  ["nothing on the device's network", { ports, host_network: true }, []],
  ["nothing without a network", { network: "none" as const }, []],
  [
    "the name of its service",
    { name: "line.mqtt", project: "line", aliases: ["mqtt"], ports },
    ["mqtt:1883", "mqtt:514/udp"],
  ],
  ["its name where it has not that of a service", { name: "line.mqtt", project: "line" }, ["line.mqtt"]],
])("other apps reach an app by %s", (_what, fields, expected) => {
  expect(reachedAs({ name: "mqtt", ...fields })).toEqual(expected);
});
