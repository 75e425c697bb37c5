import { z } from "zod";

const file = z.string().startsWith("/", "must be an absolute path");
const HOST_PATTERN = /^[a-zA-Z0-9.[\]:-]+$/;
const HOST_MESSAGE = "must be a host, with a port if references have one, and nothing else";
const secret = z.string().min(1);

/** A registry that needs credentials or trust settings. At most one entry per host. */
const registry = z
  .strictObject({
    host: z
      .string()
      .regex(HOST_PATTERN, HOST_MESSAGE)
      .meta({
        description: "Registry as in image references; `docker.io` for Docker Hub.",
        examples: ["registry.example.com:5000"],
      }),
    username: z.string().min(1).optional().meta({ description: "User name, with a password or `identity_token`." }),
    password: secret.optional().meta({ description: "Password or access token of the user." }),
    password_file: file.optional().meta({
      description: "File with the password, read at each pull; keep it readable by the service only.",
      examples: ["/etc/edge-agent/registry-password"],
    }),
    token: secret.optional().meta({ description: "Bearer token sent to the registry unchanged." }),
    identity_token: secret.optional().meta({
      description: "Token that the registry's token server exchanges for bearer tokens.",
    }),
    ca_file: z.string().min(1).optional().meta({
      description: "PEM file with the certificate authority of the registry.",
    }),
    auth_hosts: z
      .array(z.string().regex(HOST_PATTERN, HOST_MESSAGE))
      .max(16)
      .optional()
      .meta({
        description:
          "More hosts whose token servers may receive these credentials. Hosts in the registry's own domain need not be listed.",
        examples: [["login.example.org"]],
      }),
    insecure: z.boolean().default(false).meta({
      description:
        "Allows plain HTTP and any certificate. Passwords and images can then be read and changed in transit.",
    }),
  })
  .superRefine((entry, context) => {
    const given = ["password", "password_file", "token", "identity_token"] as const;
    const ways = given.filter((name) => entry[name] !== undefined);
    const issue = (path: string, message: string): void => context.addIssue({ code: "custom", path: [path], message });
    if (ways.length > 1) issue(ways[1] ?? "", `set only one of ${ways.join(" and ")}`);
    const needsPassword = entry.username !== undefined && ways.length === 0;
    if (needsPassword) issue("password", "set password or password_file beside username");
    const needsName = (ways[0] === "password" || ways[0] === "password_file") && entry.username === undefined;
    if (needsName) issue("username", `set username beside ${ways[0]}`);
  });

export const registries = z
  .array(registry)
  .default([])
  .superRefine((entries, context) => {
    const seen = new Set<string>();
    for (const [index, { host }] of entries.entries()) {
      const name = host.toLowerCase();
      if (seen.has(name)) {
        context.addIssue({ code: "custom", path: [index, "host"], message: "the registry appears twice" });
      }
      seen.add(name);
    }
  });
