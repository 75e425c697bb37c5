import type { Place } from "../documents/node.ts";
import type { Value } from "../documents/value.ts";
import { CONTENT_FIELDS } from "../../protocol/apps/app-files.ts";
import { contentOf } from "../documents/file-content.ts";
import { isEnginesOwn, networkOf } from "../../protocol/apps/app-network.ts";
import { isService, networkOwner } from "./depends-on.ts";
import { refuseUnknown } from "./unknown.ts";
import type { ComposeFile, Converter, ServiceDraft } from "./service.ts";

/** The network of services that name none. */
const DEFAULT_NETWORK = "default";

export const convertNetworkMode: Converter = (value, service, file) => {
  const mode = value.text();
  if (mode === undefined) return;
  if (service.value.fields().has("networks")) value.refuse("cannot be used together with `networks`.");
  if (mode === "host") service.set("host_network", true, value.place);
  else if (mode === "none") service.set("network", "none", value.place);
  else if (mode === "bridge")
    value.note(
      "is the network here of all apps that name none; by a service's own name it is found on the project's networks only.",
    );
  else if (/^(?:service|container):/.test(mode)) shareNetwork(mode, value, service, file);
  else value.refuse("must be host, none, bridge, or that of another service.", "Name networks under `networks`.");
};

/** As in compose, the service is started after the one whose network it has. */
function shareNetwork(mode: string, value: Value, service: ServiceDraft, file: ComposeFile): void {
  const owner = networkOwner(mode, file);
  if (owner === undefined) {
    const container = mode.replace("container:", "");
    value.refuse(
      `names the container ${container}, which no service of this file has as its \`container_name\`.`,
      "Put the service that makes it into this file. Without it, the traffic of this one would go around that one.",
    );
  } else if (isService(owner, value, file)) {
    if (service.value.fields().get("ports")) {
      value.refuse(
        "cannot be used together with `ports`.",
        `Publish them in the service ${owner}, whose network it is, as for compose.`,
      );
    }
    service.set("network", networkOf(owner), value.place);
    if (!service.dependsOn.some(({ app }) => app === owner))
      service.dependsOn.push({ app: owner, condition: "started", place: value.place });
  }
}

export const convertNetworks: Converter = (value, service, file) => {
  const references = value.isList
    ? value.items().map((item) => [item.text(), item] as const)
    : [...value.fields()].map(([name, item]) => [name, item] as const);
  for (const [name, item] of references) {
    if (name === undefined) continue;
    if (item.isMap) readSettings(item, service.name, file);
    if (name !== DEFAULT_NETWORK && !file.networks.has(name)) {
      item.refuse(`names the network ${name}, which is not under the \`networks\` of this file.`);
    } else addNetwork(name, item.place, service, file);
  }
};

const ADDRESSES = new Set(["ipv4_address", "ipv6_address", "link_local_ips"]);

/** An address that a service asks for on a network. */
export interface AskedAddress {
  readonly app: string;
  readonly address: string;
  readonly value: Value;
}

function addressesIn(value: Value, app: string): AskedAddress[] {
  return (value.isList ? value.items() : [value]).flatMap((item) => {
    const address = item.text();
    return address === undefined ? [] : [{ app, address, value: item }];
  });
}

/**
 * Addresses on a device's networks are the device's choice: one of a file could be that of the network by which the device is
 * reached. An address that no service of the file mentions makes no difference to any; one that is mentioned is refused.
 */
export function checkAddresses(services: readonly ServiceDraft[], addresses: readonly AskedAddress[]): void {
  if (addresses.length === 0) return;
  const texts = services.map(({ name, fields }) => ({ name, texts: [...textsIn(fields)] }));
  for (const { app, address, value } of addresses) {
    const mentioned = new RegExp(`(?<![\\w.])${address.replaceAll(".", "\\.")}(?!\\w|\\.\\d)`, "i");
    const user = texts.find(({ texts: own }) => own.some((text) => mentioned.test(text)));
    if (!user) {
      value.note(`has no effect here: the device chooses addresses, and no service of this file mentions ${address}.`);
    } else {
      value.refuse(
        `is mentioned by the service ${user.name}, and the device chooses addresses: one of a file could be that of the device's own network.`,
        `Write the name ${app} in place of ${address} there. Where only an address will do, such as for a name server, use 127.0.0.1 with \`network_mode: service:${app}\`.`,
      );
    }
  }
}

/** All texts of a service's fields, with the contents of the files that come with it. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else if (typeof value === "object" && value !== null) {
    if (CONTENT_FIELDS.some((field) => field in value)) yield contentOf(value).toString("utf8");
    else for (const [key, item] of Object.entries(value)) yield* textsIn([key, item]);
  }
}

/** What a service may say about a network. */
function readSettings(network: Value, app: string, file: ComposeFile): void {
  const fields = network.fields();
  const known = ["aliases", "priority", "gw_priority"];
  for (const [key, value] of fields) {
    if (ADDRESSES.has(key)) file.addresses.push(...addressesIn(value, app));
    else if (key === "driver_opts") value.refuse("is not supported: the device connects all apps alike.");
    else if (key === "interface_name")
      value.refuse("is not supported.", "Use the engine's names where the app needs one: eth0 for its first network.");
    else refuseUnknown(new Map([[key, value]]), known);
  }
  for (const key of ["priority", "gw_priority"]) fields.get(key)?.note("has no effect here.");
  const aliases = fields.get("aliases");
  for (const alias of aliases?.textOrTexts() ?? []) file.names.add(app, alias, aliases?.place ?? network.place);
}

/** Sets the further names of a service once all services are converted. Without networks it has none. */
export function finishNames(service: ServiceDraft, { names }: ComposeFile): void {
  if (!service.has("networks")) return;
  for (const [name, place] of names.of(service.name)) service.append("aliases", name, place);
}

/** Sets the network of a service that names none: that of its project. */
export function finishNetworks(service: ServiceDraft, file: ComposeFile): void {
  const fields = service.value.fields();
  if (fields.has("network_mode") || service.lengthOf("networks") > 0) return;
  addNetwork(DEFAULT_NETWORK, service.value.place, service, file);
}

function addNetwork(name: string, place: Place, service: ServiceDraft, file: ComposeFile): void {
  const own = networkName(name, file);
  // Two networks of the file may have one name: in compose they are one too.
  if ((service.fields["networks"] as readonly string[] | undefined)?.includes(own)) return;
  service.append("networks", own, place);
  const network = file.networks.get(name);
  if (network && isExternal(network) && !isEnginesOwn(own)) service.append("external_networks", own, place);
  else if (file.networks.get(name)?.fields().get("internal")?.boolean())
    service.append("internal_networks", own, place);
}

/** Networks belong to the project unless they have a name of their own, as in compose. */
export function networkName(name: string, { project, networks }: ComposeFile): string {
  const fields = networks.get(name)?.fields();
  const external = fields?.get("external");
  const externalName = external?.isMap ? external.fields().get("name") : undefined;
  const own = (externalName ?? fields?.get("name"))?.text();
  const isOfEngine = external !== undefined && (external.isMap || external.boolean() === true);
  return own ?? (isOfEngine ? name : `${project.toLowerCase()}_${name}`);
}

function isExternal(network: Value): boolean {
  const external = network.fields().get("external");
  return external !== undefined && (external.isMap || external.boolean() === true);
}

/** They give an app an address of its own in the device's network. */
const LAN_DRIVERS = new Set(["macvlan", "ipvlan"]);
const LAN_ADVICE =
  "An app has no address of its own in the device's network: publish the ports that are used at the device's.";

/** What the engine's own networks mean, for a service that is on one. */
const OWN_ADVICE: Readonly<Record<string, string>> = {
  host: "Use `network_mode: host` in the services that are on it.",
  none: "Use `network_mode: none` in the services that are on it.",
};

/**
 * Checks a network's own definition: the device makes all networks alike.
 *
 * @param own its name on the device
 */
export function checkNetwork(network: Value, own: string): void {
  for (const [key, value] of network.fields()) {
    if (key === "name" || key === "labels") {
      if (key === "labels") value.note("has no effect here.");
    } else if (key === "driver") {
      const driver = value.text() ?? "";
      if (driver !== "bridge")
        value.refuse(
          "must be bridge.",
          LAN_DRIVERS.has(driver) ? LAN_ADVICE : "Remove it: all services are on one device.",
        );
    } else if (key === "external") {
      if (!isExternal(network)) continue;
      if (isEnginesOwn(own))
        value.refuse(
          `is the network ${own}, which engines have by themselves.`,
          OWN_ADVICE[own] ?? "Remove it: the services of this file then share a network of their own.",
        );
      else
        value.note(
          "is the engine's network of this name, which has to be on the device, and which the device must allow (`policy.external_networks.allow`). For one that the agent makes and apps of all files share, write its `name` without external.",
        );
    } else if (key === "internal") {
      // Compose refuses both together too: the network is as it was made.
      if (value.boolean() && isExternal(network))
        value.refuse(
          "cannot be said of an external network.",
          "Remove it here, and say it where the network is made: `docker network create --internal`.",
        );
    } else if (key === "attachable") value.note("has no effect here.");
    else if (key === "ipam")
      value.note("has no effect here: the device chooses addresses within its `networks.subnets`.");
    else if (["enable_ipv4", "enable_ipv6"].includes(key)) {
      if (value.boolean() === (key === "enable_ipv4")) continue;
      if (key === "enable_ipv4") value.refuse("is not supported: apps have IPv4 on each network.");
      else value.refuse("is not supported: networks of apps have IPv4 only.", "Remove it.");
    } else if (key === "driver_opts") {
      for (const [option, setting] of value.fields()) checkDriverOption(option, setting);
    } else refuseUnknown(new Map([[key, value]]), ["name", "driver"]);
  }
}

const BRIDGE = "com.docker.network.bridge.";

/** Options of a bridge, which keep apps apart, or publish their ports at one address. */
function checkDriverOption(option: string, setting: Value): void {
  if (option === `${BRIDGE}name`) setting.note("has no effect here: the engine chooses the name of the interface.");
  else if (option === `${BRIDGE}host_binding_ipv4`)
    setting.refuse("is not supported.", "Write the address into each of `ports`: 127.0.0.1:8080:80.");
  else if (option === `${BRIDGE}enable_icc`)
    setting.refuse("is not supported.", "Give services that must not reach each other networks of their own.");
  else setting.refuse("is not supported: the device makes all networks alike.");
}
