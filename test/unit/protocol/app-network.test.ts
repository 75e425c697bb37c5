import { expect, it } from "vitest";
import { networkIssues, reachedAs } from "../../../src/protocol/apps/app-network.ts";

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
  ["nothing without a network", { network: "none" }, []],
  ["nothing where it has the network of another app", { network: "app:vpn", ports: [] }, []],
  [
    "the name of its service",
    { name: "line.mqtt", project: "line", aliases: ["mqtt"], ports },
    ["mqtt:1883", "mqtt:514/udp"],
  ],
  ["its name where it has not that of a service", { name: "line.mqtt", project: "line" }, ["line.mqtt"]],
])("other apps reach an app by %s", (_what, fields, expected) => {
  expect(reachedAs({ name: "mqtt", ...fields })).toEqual(expected);
});

it.each([
  [{ network: "app:vpn" }, []],
  [{ network: "app:mqtt" }, ["network"]],
  [{ network: "app:vpn", ports: [{ host_port: 30_001, target_port: 1 }] }, ["ports"]],
  [{ network: "app:vpn", networks: ["a"], aliases: ["b"] }, ["networks", "aliases"]],
  [{ network: "app:vpn", host_network: true }, ["network"]],
  [
    { network: "app:vpn", hostname: "a", dns: ["192.0.2.1"], extra_hosts: [{ name: "a", address: "192.0.2.1" }] },
    ["hostname", "dns", "extra_hosts"],
  ],
  [{ network: "app:vpn", dns_search: ["a"], dns_options: ["ndots:1"] }, ["dns_search", "dns_options"]],
])("what belongs to the app whose network it is cannot be said of another one: %j", (fields, paths) => {
  expect(networkIssues({ name: "mqtt", ...fields }).map(({ path }) => path)).toEqual(paths);
});
