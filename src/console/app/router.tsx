import { Button, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { createBrowserRouter, Link, Navigate, type RouteObject, useRouteError } from "react-router";
import { toFailure } from "../api/failure.ts";
import { FailureNote } from "../parts/failure-note.tsx";
import { PageTitle } from "../parts/page-title.tsx";
import { MissingPart } from "../parts/missing-part.tsx";
import { Empty } from "../parts/empty.tsx";
import { usePermission } from "../api/session.ts";
import { Forbidden, Loading } from "../parts/loaded.tsx";
import { PAGES } from "./pages.ts";
import { PublicFrame, SessionFrame } from "./frames.tsx";

/** Shown in place of a page that failed to load or to render. */
function ErrorPage(): ReactNode {
  const error = useRouteError();
  return (
    <Stack gap="md" maw="40rem">
      <PageTitle title="This page does not work" />
      <FailureNote failure={toFailure(error)} />
      <Button variant="default" onClick={() => location.reload()} style={{ alignSelf: "start" }}>
        Reload the page
      </Button>
    </Stack>
  );
}

/** Shown in place of a page whose module could not be loaded. */
function MissingPartPage({ error }: { readonly error: unknown }): ReactNode {
  return (
    <>
      <PageTitle title="Not loaded" />
      <MissingPart error={error} />
    </>
  );
}

function NotFoundPage(): ReactNode {
  return (
    <>
      <PageTitle title="No such page" />
      <Empty title="Nothing is at this address." action={<Link to="/overview">Go to the overview</Link>}>
        The link may be incomplete, or what it named was removed.
      </Empty>
    </>
  );
}

/** Shows the page to those who have the permission, and to others which one is missing. */
function Permitted({ permission, children }: { readonly permission: string; readonly children: ReactNode }): ReactNode {
  if (usePermission(permission)) return children;
  return (
    <>
      <PageTitle title="Not permitted" />
      <Forbidden permission={permission} />
    </>
  );
}

type Entry = [path: string, page: (typeof PAGES)[keyof typeof PAGES]];

/** The routes of all pages: those without a session, and those inside the shell. */
export function createRouter(): ReturnType<typeof createBrowserRouter> {
  const entries: Entry[] = Object.entries(PAGES);
  return createBrowserRouter([
    {
      errorElement: <ErrorPage />,
      // While the first page is loaded.
      hydrateFallbackElement: <Loading />,
      children: [
        { element: <PublicFrame />, children: entries.filter(([, { isPublic }]) => isPublic).map(toRoute) },
        {
          element: <SessionFrame />,
          children: [
            { path: "/", element: <Navigate to="/overview" replace /> },
            ...entries.filter(([, { isPublic }]) => !isPublic).map(toRoute),
            { path: "*", element: <NotFoundPage /> },
          ],
        },
      ],
    },
  ]);
}

function toRoute([path, { load, permission }]: Entry): RouteObject {
  return {
    path,
    errorElement: <ErrorPage />,
    lazy: async () => {
      const Page = await load().catch((error: unknown) => () => <MissingPartPage error={error} />);
      if (permission === undefined) return { Component: Page };
      return {
        element: (
          <Permitted permission={permission}>
            <Page />
          </Permitted>
        ),
      };
    },
  };
}
