import { networkInterfaces } from "node:os";
import { controlPlaneHop, isLoopback } from "../hop.ts";
import { bad, good, type Probe } from "../probe.ts";

/** Names the kernel gives modems. */
const MODEM = /^(wwan|ppp|rmnet|wwp)/;

/** An interface other than the loopback has an address. */
export const probeInterface: Probe = async ({ config }) => {
  const up = Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    addresses?.some(({ internal }) => !internal) ? [MODEM.test(name) ? `${name} (modem)` : name] : [],
  );
  if (up.length > 0) return good(`Up with an address: ${up.join(", ")}.`);
  if (!(config instanceof Error) && isLoopback(controlPlaneHop(config.control_plane_url))) {
    return good("None is up, and none is needed: the control plane is on this device.");
  }
  return bad(
    "No network interface has an address.",
    "Check cable, SIM, antenna and APN: ip address, and mmcli -m any for a modem.",
  );
};
