import { z } from "zod";
import { isHost } from "../images/private-hosts.ts";

const text = z.string().min(1).max(1_024);

const mailServer = z.strictObject({
  host: text.meta({ description: "Name or address of the server.", examples: ["mail.example.com"] }),
  port: z.int().min(1).max(65_535).default(587).meta({ description: "Port of the server." }),
  tls: z.enum(["implicit", "starttls", "none"]).default("starttls").meta({
    description:
      "`implicit` from the first byte, `starttls` required before anything is said, `none` for a server on this machine.",
  }),
  from: z
    .string()
    .max(254)
    .regex(/^[^\s@<>"]{1,64}@[A-Za-z0-9.-]{1,189}$/, "must be a mail address, such as alerts@example.com")
    .meta({ description: "Sender of the mails.", examples: ["alerts@example.com"] }),
  user: text.optional().meta({ description: "User at the server, with `password_file`." }),
  password_file: text.optional().meta({ description: "File that holds the password of `user`." }),
  ca_file: text.optional().meta({ description: "PEM file with the authorities to trust instead of those of Node.js." }),
});

/** The keys of the configuration for alerts. */
export const alertsShape = {
  alert_channels: z
    .strictObject({
      allow_private: z
        .array(z.string().refine(isHost, { message: "must be HOST or HOST:PORT, such as hooks.lan:8080" }))
        .max(100)
        .default([])
        .meta({
          description:
            "Hosts that may have private addresses and be without TLS: HOST for all ports, or HOST:PORT. Anyone who may " +
            "manage alerts can have the service send POST requests there.",
          examples: [["hooks.lan:8080"]],
        }),
    })
    .prefault({})
    .meta({ description: "Where alerts may be sent besides public addresses with https." }),
  operator_account: z
    .string()
    .regex(/^acc_[0-9a-f]{1,64}$/, "must be the id of an account, such as acc_c545cfa7618d81bd42ddce44")
    .optional()
    .meta({
      description:
        "Account whose alerts tell of the service's own trouble: a disk that fills up, messages that are not sent, a certificate of " +
        "`public_url` that expires. Without it, no account is told.",
      examples: ["acc_c545cfa7618d81bd42ddce44"],
    }),
  mail: mailServer.optional().meta({
    description: "Server that takes the mails of alerts; without it there are no channels of the kind `email`.",
  }),
};
