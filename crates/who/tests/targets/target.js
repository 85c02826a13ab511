// As target.c.
'use strict';
let sink = 0n, other = 0;
const calls = [0, 0];

function hotA() {
  sink += process.hrtime.bigint() & 1n;
  calls[0]++;
}

function hotB() {
  other += Date.now() & 1;
  calls[1]++;
}

function work(seed) {
  for (let i = 0; i < 20; i++) other = (other + seed + i) | 0;
}

const seconds = Number(process.argv[2] || 1);
const end = Date.now() + seconds * 1000;
let random = 1;
do {
  for (let i = 0; i < 20000; i++) {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    if ((random >>> 16) % 10 < 7) hotA();
    else hotB();
    work(random);
  }
} while (Date.now() < end);
console.log(`hotA ${calls[0]}\nhotB ${calls[1]}`);
