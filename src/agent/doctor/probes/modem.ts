import { readdir, readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { findModem, isModemControl, isModemInterface, type ModemInterface } from "../../core/host/modem.ts";
import { bad, good, type Probe, warning } from "../probe.ts";
import { interfacesUp } from "../../net/interfaces.ts";

const NEXT =
  "Check SIM, antenna, APN and PIN. Where ModemManager runs: mmcli -m any shows state and signal; nmcli shows the connection.";

/** The SIM modem, if there is one, is connected. */
export const probeModem: Probe = async () => {
  // What cannot be listed has no modem.
  const [interfaces, devices] = await Promise.all([modemInterfaces(), readdir("/dev").catch(() => [])]);
  const hasOtherRoute = interfacesUp().some((name) => !isModemInterface(name));
  const found = findModem({ controls: devices.filter(isModemControl), interfaces, hasOtherRoute });
  if (found.kind === "none") return good("There is none.");
  if (found.kind === "up") return good(found.text);
  return found.matters ? bad(found.text, NEXT) : warning(`${found.text} The device is connected another way.`, NEXT);
};

async function modemInterfaces(directory: string = "/sys/class/net"): Promise<ModemInterface[]> {
  // Absent in some containers.
  const names = await readdir(directory).catch(() => []);
  const addresses = networkInterfaces();
  return await Promise.all(
    names.filter(isModemInterface).map(async (name) => ({
      name,
      // The interface is gone, or its driver does not say.
      state: (await readFile(join(directory, name, "operstate"), "utf8").catch(() => "unknown")).trim(),
      addresses: (addresses[name] ?? []).map(({ address }) => address).filter((one) => !/^fe80:/i.test(one)),
    })),
  );
}
