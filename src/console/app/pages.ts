import type { ComponentType } from "react";
import type { ConsolePath } from "../../protocol/people/console-paths.ts";
import type { IconName } from "../parts/icon.tsx";

/** A page of the console. Its module is loaded when it is opened. */
interface Page {
  readonly load: () => Promise<ComponentType>;
  /** Whether it is shown without a session. */
  readonly isPublic?: true;
  /** Permission without which it says that it may not be seen. */
  readonly permission?: string;
  /** Entry in the navigation, in the order of this table. */
  readonly navigation?: { readonly label: string; readonly icon: IconName };
}

/** All pages by their paths, which `protocol/people/console-paths.ts` lists for the server. */
export const PAGES: Readonly<Record<Exclude<ConsolePath, "/">, Page>> = {
  "/setup": { load: async () => (await import("../pages/set-up/set-up-page.tsx")).SetUpPage, isPublic: true },
  "/sign-in": { load: async () => (await import("../pages/sign-in/sign-in-page.tsx")).SignInPage, isPublic: true },
  "/overview": {
    load: async () => (await import("../pages/overview/overview-page.tsx")).OverviewPage,
    permission: "assets.read",
    navigation: { label: "Overview", icon: "overview" },
  },
  "/assets": {
    load: async () => (await import("../pages/assets/assets-page.tsx")).AssetsPage,
    permission: "assets.read",
    navigation: { label: "Assets", icon: "device" },
  },
  "/assets/:asset_id": {
    load: async () => (await import("../pages/asset/asset-page.tsx")).AssetPage,
    permission: "assets.read",
  },
  "/assets/:asset_id/deploy": {
    load: async () => (await import("../pages/deploy/deploy-page.tsx")).DeployPage,
    permission: "apps.deploy",
  },
  "/assets/:asset_id/deployments/:deployment_id": {
    load: async () => (await import("../pages/deployment/deployment-page.tsx")).DeploymentPage,
    permission: "deployments.read",
  },
  "/assets/:asset_id/apps/:app/log": {
    load: async () => (await import("../pages/log/log-page.tsx")).LogPage,
    permission: "logs.read",
  },
  "/assets/:asset_id/apps/:app/update": {
    load: async () => (await import("../pages/deploy/update-page.tsx")).UpdatePage,
    permission: "apps.deploy",
  },
  "/fleets": {
    load: async () => (await import("../pages/fleets/fleets-page.tsx")).FleetsPage,
    permission: "fleets.read",
    navigation: { label: "Fleets", icon: "fleet" },
  },
  "/fleets/:fleet": {
    load: async () => (await import("../pages/fleet/fleet-page.tsx")).FleetPage,
    permission: "fleets.read",
  },
  "/fleets/:fleet/rollouts/:rollout_id": {
    load: async () => (await import("../pages/rollout/rollout-page.tsx")).RolloutPage,
    permission: "fleets.read",
  },
  "/sims": {
    load: async () => (await import("../pages/sims/sims-page.tsx")).SimsPage,
    permission: "assets.read",
    navigation: { label: "SIMs", icon: "sim" },
  },
  "/alerts": {
    load: async () => (await import("../pages/alerts/alerts-page.tsx")).AlertsPage,
    permission: "alerts.read",
    navigation: { label: "Alerts", icon: "bell" },
  },
  "/alerts/settings": {
    load: async () => (await import("../pages/alerts/settings-page.tsx")).AlertSettingsPage,
    permission: "alerts.read",
  },
  "/enrol": {
    load: async () => (await import("../pages/enrol/enrol-page.tsx")).EnrolPage,
    permission: "enrolment.create",
    navigation: { label: "Enrol a device", icon: "enrol" },
  },
  "/invitation": {
    load: async () => (await import("../pages/invitation/invitation-page.tsx")).InvitationPage,
    isPublic: true,
  },
  "/login-request": {
    load: async () => (await import("../pages/login-request/login-request-page.tsx")).LoginRequestPage,
  },
  "/people": {
    load: async () => (await import("../pages/people/people-page.tsx")).PeoplePage,
    permission: "users.manage",
    navigation: { label: "People", icon: "people" },
  },
  "/developer": {
    load: async () => (await import("../pages/developer/developer-page.tsx")).DeveloperPage,
    permission: "keys.manage",
    navigation: { label: "Developer", icon: "developer" },
  },
  "/audit": {
    load: async () => (await import("../pages/audit/audit-page.tsx")).AuditPage,
    permission: "audit.read",
    navigation: { label: "Audit log", icon: "audit" },
  },
  "/profile": {
    load: async () => (await import("../pages/profile/profile-page.tsx")).ProfilePage,
    navigation: { label: "Your session", icon: "person" },
  },
};
