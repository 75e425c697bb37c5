import { isModemInterface } from "../../core/host/modem.ts";
import { findNetworkFault, interfacesUp } from "../../net/interfaces.ts";
import { bad, good, type Probe } from "../probe.ts";

/** An interface that leads out of the device has an address. */
export const probeInterface: Probe = async ({ config }) => {
  const up = interfacesUp().map((name) => (isModemInterface(name) ? `${name} (modem)` : name));
  if (up.length > 0) return good(`Up with an address: ${up.join(", ")}.`);
  const fault = findNetworkFault(config instanceof Error ? undefined : config.control_plane_url);
  if (fault) return bad(fault.text, fault.next);
  return good("None is up, and none is needed: the control plane is on this device.");
};
