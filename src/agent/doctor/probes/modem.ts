import { readdir, readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import {
  findModem,
  isModemControl,
  isModemInterface,
  isWeak,
  type ModemInterface,
  modemObstacle,
  modemText,
} from "../../core/host/modem.ts";
import { ModemManager } from "../../host/modem-manager.ts";
import { bad, good, type Probe, warning } from "../probe.ts";
import { interfacesUp } from "../../net/interfaces.ts";

const NEXT =
  "Check SIM, antenna, APN and PIN. Where ModemManager runs: mmcli -m any shows state and signal; nmcli shows the connection.";

const WEAK_NEXT =
  "Check the antenna, its cable and its place: below -115 dBm or with a SINR below 0 dB links are slow and drop.";

/** The SIM modem, if there is one, is connected. */
export const probeModem: Probe = async (_context, signal) => {
  // What cannot be listed has no modem.
  const [interfaces, devices, reading] = await Promise.all([
    modemInterfaces(),
    readdir("/dev").catch(() => []),
    new ModemManager().read(signal),
  ]);
  const hasOtherRoute = interfacesUp().some((name) => !isModemInterface(name));
  const found = findModem({ controls: devices.filter(isModemControl), interfaces, hasOtherRoute });
  if (found.kind === "none") return good("There is none.");
  const heard = reading && modemText(reading);
  const text = heard ? `${found.text} ${heard}.` : found.text;
  if (found.kind === "up") return reading && isWeak(reading) ? warning(`${text} That is weak.`, WEAK_NEXT) : good(text);
  const obstacle = reading && modemObstacle(reading);
  const why = obstacle ? `${text} ${obstacle.text}` : text;
  const next = obstacle?.next ?? NEXT;
  return found.matters ? bad(why, next) : warning(`${why} The device is connected another way.`, next);
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
