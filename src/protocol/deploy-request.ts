import { newAppSpecSchema } from "./app-spec.ts";
import { appUpdateSchema } from "./app-update.ts";
import { deployOptionFields } from "./deploy-options.ts";

/** Body of a request that deploys an app: what it is, and how it is to be carried out. */
export const deployRequestSchema = newAppSpecSchema.extend(deployOptionFields).meta({
  id: "AppDeploymentRequest",
  examples: [
    {
      name: "node-red",
      image: "registry.example.com/team/node-red:4.1",
      environments: [{ key: "TZ", value: "UTC" }],
      ports: [{ host_port: 30_080, target_port: 1880 }],
      volumes: [{ local: "/var/lib/node-red", target: "/data" }],
    },
  ],
});

/** Body of a request that updates an app. */
export const updateRequestSchema = appUpdateSchema.extend(deployOptionFields).meta({
  id: "AppUpdateRequest",
  description:
    "Fields left out keep their values; lists are replaced whole; `null` takes away what is absent by default.",
  examples: [{ image: "registry.example.com/team/node-red:4.2" }],
});
