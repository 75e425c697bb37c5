/** What a network interface is, as far as it can be told: what its bytes cost depends on that. */
export const NETWORK_KINDS = ["ethernet", "wifi", "modem", "other"] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];

/** What the kernel says of an interface. */
export interface InterfaceFacts {
  readonly name: string;
  /** `/sys/class/net/NAME/type`, a number of `ARPHRD_*`; `undefined` where it cannot be read. */
  readonly type: number | undefined;
  /** `/sys/class/net/NAME/uevent`, empty where it cannot be read. */
  readonly uevent: string;
  /** Name of the driver, empty where it has none. */
  readonly driver: string;
  readonly isWireless: boolean;
  /** Whether a piece of hardware stands behind it: bridges, tunnels and containers' ends have none. */
  readonly isHardware: boolean;
}

const ETHERNET = 1;
const PPP = 512;
const RAW_IP = 519;
const NO_HEADER = 65534;

/** Modems that show as Ethernet: the cable to them is free, what lies behind is not. */
const MODEM_DRIVERS = new Set(["qmi_wwan", "cdc_mbim", "huawei_cdc_ncm", "sierra_net", "hso", "rndis_host", "ipheth"]);

/** Kind of an interface. Where the kernel does not tell, it is `other`. */
export function networkKind(facts: InterfaceFacts): NetworkKind {
  const { name, type, uevent, driver, isWireless, isHardware } = facts;
  if (/^DEVTYPE=wwan$/m.test(uevent) || MODEM_DRIVERS.has(driver)) return "modem";
  if (type === PPP || type === RAW_IP || /^(?:wwan|ppp|rmnet|usb)/.test(name)) return "modem";
  if (isWireless || /^DEVTYPE=wlan$/m.test(uevent)) return "wifi";
  if (type === NO_HEADER || !isHardware) return "other";
  return type === ETHERNET ? "ethernet" : "other";
}
