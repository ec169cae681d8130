// A report as a browser sees it without a network: nothing is asked for, nothing fails, every picture is drawn, and axe-core
// finds no serious fault. `node check.mjs REPORT.html [SCREENSHOT-PREFIX]`; exits with 1 when something is wrong.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const folder = process.env.NODE_FOLDER ?? process.cwd();
const require = createRequire(path.join(path.resolve(folder), 'package.json'));
const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!fs.existsSync(chromiumPath)) {
  console.log(`skipped: no ${chromiumPath}`);
  process.exit(0);
}
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [report, prefix] = process.argv.slice(2);
const url = `file://${path.resolve(report)}`;
const own = (address) => /^(file|data|blob):/.test(address);
const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
let faults = 0;
const fault = (...words) => {
  console.log(...words);
  faults += 1;
};

async function open(name, colorScheme, width, bypassCSP) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, offline: true, bypassCSP });
  const page = await context.newPage();
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && fault(name, 'console:', message.text()));
  page.on('pageerror', (error) => fault(name, 'script:', error.message));
  page.on('request', (request) => own(request.url()) || fault(name, 'request:', request.url()));
  await page.goto(url);
  const height = await page.evaluate(() => document.body.scrollHeight);
  for (let y = 0; y < height + 3000; y += 600) {
    await page.evaluate((to) => scrollTo(0, to), y);
    await page.waitForTimeout(60);
  }
  await page.waitForTimeout(800);
  return page;
}

for (const [name, scheme, width] of [['light', 'light', 1200], ['dark', 'dark', 1200], ['phone', 'light', 390]]) {
  const page = await open(name, scheme, width, false);
  const [plots, drawn, overflow] = await page.evaluate(() => {
    const all = [...document.querySelectorAll('figure')];
    const drawn = all.filter((figure) => figure.querySelector('.chart svg .trace > *')).length;
    return [all.length, drawn, document.documentElement.scrollWidth - innerWidth];
  });
  console.log(`${name}: ${drawn} of ${plots} pictures drawn, ${Math.max(0, overflow)} px too wide`);
  if (drawn !== plots || overflow > 0) fault(name, 'is not whole');
  await page.evaluate(() => scrollTo(0, 0));
  if (prefix) await page.screenshot({ path: `${prefix}-${name}.png`, fullPage: true });
  // axe-core is a script of its own, which the page's policy would not run.
  const looked = await open(name, scheme, width, true);
  await looked.evaluate(axe);
  const { violations } = await looked.evaluate(() => globalThis.axe.run());
  for (const { id, impact, nodes } of violations) {
    console.log(`${name}: axe: ${impact}: ${id}: ${nodes.length} of ${nodes[0].html.slice(0, 120)}`);
    if (['serious', 'critical'].includes(impact)) faults += 1;
  }
}
await browser.close();
process.exit(faults ? 1 : 0);
