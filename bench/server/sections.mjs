/** What the server suite measures, in this order. */
export const SECTIONS = ['singles', 'lifecycles', 'handover', 'renewals', 'latency', 'readers'];

export const PLAIN_SECTIONS = ['readers'];
