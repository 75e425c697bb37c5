/** Kinds of network interface, which decide whether a network is metered. */
export const NETWORK_KINDS = ["ethernet", "wifi", "modem", "other"] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];

/** The kernel's properties of an interface. */
export interface InterfaceFacts {
  readonly name: string;
  /** `/sys/class/net/NAME/type`, a number of `ARPHRD_*`; `undefined` if it cannot be read. */
  readonly type: number | undefined;
  /** `/sys/class/net/NAME/uevent`; empty if it cannot be read. */
  readonly uevent: string;
  /** Name of the driver; empty if there is none. */
  readonly driver: string;
  readonly isWireless: boolean;
  /** Whether it is a hardware device: bridges, tunnels and containers' interfaces are not. */
  readonly isHardware: boolean;
}

const ETHERNET = 1;
const PPP = 512;
const RAW_IP = 519;
const NO_HEADER = 65534;

/** Drivers of modems that appear as Ethernet interfaces. */
const MODEM_DRIVERS = new Set(["qmi_wwan", "cdc_mbim", "huawei_cdc_ncm", "sierra_net", "hso", "rndis_host", "ipheth"]);

/** Returns the kind of an interface; `other` if the kernel's properties do not tell. */
export function networkKind(facts: InterfaceFacts): NetworkKind {
  const { name, type, uevent, driver, isWireless, isHardware } = facts;
  if (/^DEVTYPE=wwan$/m.test(uevent) || MODEM_DRIVERS.has(driver)) return "modem";
  if (type === PPP || type === RAW_IP || /^(?:wwan|ppp|rmnet|usb)/.test(name)) return "modem";
  if (isWireless || /^DEVTYPE=wlan$/m.test(uevent)) return "wifi";
  if (type === NO_HEADER || !isHardware) return "other";
  return type === ETHERNET ? "ethernet" : "other";
}
