import type { DefaultRoute } from "../../src/agent/core/host/default-route.ts";
import type { InterfaceCounters } from "../../src/agent/core/traffic/interface-traffic.ts";
import type { NetworkKind } from "../../src/agent/core/traffic/network-kind.ts";
import type { Network } from "../../src/agent/host/network.ts";

/** Interfaces set by the test. Their kind follows from the name, as on most devices. */
export class FakeNetwork implements Network {
  defaultRoute: DefaultRoute | undefined = { interface: "eth0", gateway: "0102A8C0" };
  interfaceCounters: readonly InterfaceCounters[] = [];

  route(): DefaultRoute | undefined {
    return this.defaultRoute;
  }

  kindOf(name: string): NetworkKind {
    if (name.startsWith("eth")) return "ethernet";
    if (name.startsWith("wlan")) return "wifi";
    return name.startsWith("wwan") ? "modem" : "other";
  }

  counters(): readonly InterfaceCounters[] {
    return this.interfaceCounters;
  }
}
