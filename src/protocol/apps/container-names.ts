import { z } from "zod";

/*
 * Options of an app's container about names: its own, those of other hosts, and where it looks names up.
 */

const ADDRESS = "must be an IP address";
const ipAddress = z.union([z.ipv4(ADDRESS), z.ipv6(ADDRESS)]);

const HOST_NAME = /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;
const HOST_NAME_MESSAGE = "must be a host name of letters, digits, '-' and '.'";

/** Stands for the device itself, as the app's network sees it. */
export const HOST_GATEWAY = "host-gateway";

const extraHost = z
  .strictObject({
    name: z
      .string()
      .max(253)
      .regex(HOST_NAME, HOST_NAME_MESSAGE)
      .meta({ description: "Host name, as the app looks it up.", examples: ["plc.local"] }),
    address: z
      .union([
        z.ipv4(`${ADDRESS} or ${HOST_GATEWAY}`),
        z.ipv6(`${ADDRESS} or ${HOST_GATEWAY}`),
        z.literal(HOST_GATEWAY, `${ADDRESS} or ${HOST_GATEWAY}`),
      ])
      .meta({
        description: "Its IP address, or `host-gateway` for the device itself.",
        examples: ["192.168.1.10", HOST_GATEWAY],
      }),
  })
  .meta({ id: "ExtraHost" });

export const extraHosts = z
  .array(extraHost)
  .max(64)
  .meta({ description: "Host names that the app finds without asking a name server." });

export const dns = z
  .array(ipAddress)
  .max(3)
  .meta({
    description: "Addresses of name servers, in order, in place of the device's.",
    examples: [["192.168.1.1"]],
  });

/** Most entries of either list: C libraries use fewer. */
const MAX_DNS_ENTRIES = 16;

export const dnsSearch = z
  .array(
    z
      .string()
      .max(253)
      // Name servers and engines take an underscore too.
      .refine(
        (name) => name === "." || HOST_NAME.test(name.replaceAll("_", "-").replace(/\.$/, "")),
        "must be a domain, or . for none",
      ),
  )
  .max(MAX_DNS_ENTRIES)
  .meta({
    description: "Domains of short names, in place of the device's; `.` for none.",
    examples: [["plant.local"]],
  });

export const dnsOptions = z
  .array(z.string().regex(/^[a-z0-9-]{1,32}(:\d{1,5})?$/, "must be an option of resolv.conf, such as ndots:1"))
  .max(MAX_DNS_ENTRIES)
  .meta({ description: "Options of resolv.conf, in place of the device's.", examples: [["ndots:1"]] });

export const hostname = z
  .string()
  .max(63)
  // Engines take an underscore too.
  .refine((name) => HOST_NAME.test(name.replaceAll("_", "-")), HOST_NAME_MESSAGE)
  .meta({
    description: "Host name that the app sees as its own; by default one of the engine's.",
    examples: ["plc-1"],
  });
