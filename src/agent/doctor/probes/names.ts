import { LABELS } from "../../core/app/container.ts";
import { configOf, good, type Probe, warning } from "../probe.ts";

/** Apps find each other by name on the networks that there are. Before the first app there is none to look at. */
export const probeNames: Probe = async (context, signal) => {
  const { networks } = context.engine;
  const { state_dir: stateDir } = configOf(context);
  const [network] = await networks.list(`${LABELS.stateDir}=${stateDir}`, signal);
  if (!network) return good("No app is on a network yet.");
  const state = await networks.inspect(network.name, signal);
  if (state?.resolvesNames !== false) return good("Apps find each other by name.");
  return warning(
    "Podman has no name service: apps do not find each other by name.",
    "Install netavark and aardvark-dns, and have Podman use them: see docs/install.md.",
  );
};
